#!/bin/sh
# ./train on the built-in tasks, with every scheme, and from another run's weights.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
cd -- "$root" || exit 1

cat >"$work/task.json" <<'CONFIG'
{
  "data": {"task": "copy", "length": 6, "symbols": 5},
  "model": {"context_length": 12, "d_model": 32, "num_layers": 2, "num_heads": 4, "d_ff": 64},
  "training": {"batch_size": 16, "max_steps": 2, "eval_every": 0, "eval_batches": 1,
               "learning_rate": {"max": 5e-3, "warmup_steps": 10}}
}
CONFIG
train() {
    run=$1
    shift
    "$bin/train" "$work/task.json" --run "$work/$run" --threads 1 "$@"
}

for scheme in none sinusoidal sinusoidal_learned learned rope t5 window shaw transformer_xl alibi index; do
    check "trains with $scheme" train "$scheme" --set model.position.type="$scheme"
done

learns_to_copy() {
    train copy --set training.max_steps=120 >"$work/copy.log" || return 1
    percent=$(sed -n 's/^accuracy: \([0-9]*\).*/\1/p' "$work/copy.log")
    echo "accuracy $percent"
    [ "$percent" -ge 90 ]
}
check "copying is learned in 120 steps with rope" learns_to_copy

same_weights() {
    train started --set training.max_steps=0 --init-from "$work/rope" &&
        cmp "$work/rope/model.safetensors" "$work/started/model.safetensors"
}
check "--init-from takes the weights as they are" same_weights
check "--init-from with scaling and a longer context" train scaled --init-from "$work/rope" \
    --set model.context_length=24 --set model.position.scaling.type=yarn \
    --set model.position.scaling.original_context=12
check "--init-from stretches a learned table" train stretched --init-from "$work/learned" \
    --set model.context_length=24 --set model.position.type=learned
check "--init-from names the tensor of another shape" \
    fails_with 1 'token_embeddings.weight' train clash --init-from "$work/rope" --set model.d_model=64
check "--init-from names the tensor that is missing" fails_with 1 'relative_bias' train missing \
    --init-from "$work/rope" --set model.position.type=t5
check "--init-from names the tensor that has no place" fails_with 1 'position_embeddings.weight' \
    train extra --init-from "$work/learned"
check "a document mask does not go with a task" fails_with 1 'model.document_mask' train mask \
    --set model.document_mask=true
check "a window table that is too short is refused" fails_with 1 'max_distance' train short \
    --set model.position.type=window --set model.position.max_distance=8
echo "1..$number"
