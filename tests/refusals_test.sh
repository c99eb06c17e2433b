#!/bin/sh
# What the programs say when something is wrong: one line with file, cause and remedy, the exit status (1 failed, 2
# wrong usage), and nothing new left behind. Configs as text are in config_refusal_test.c, paths and locales in
# procedures_test.sh, kills and resumes in train_test.sh.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
shared=${TINYLM_SHARED:-$root/../shared}
cd "$work" || exit 1
# Every file here but the logs of this script and the cache, which is only ever added to.
listing() { find . -path ./data -prune -o -type f ! -name out ! -name err ! -name check ! -name before ! -name after -print | sort; }
# refuses STATUS LINE PROGRAM [ARGUMENT]...: says exactly LINE on stderr, and leaves no file behind.
refuses() {
    wanted=$1 line=$2 program=$3
    shift 3
    listing >before
    "$bin/$program" "$@" >out 2>err </dev/null
    status=$?
    listing >after
    [ "$wanted" -ne 2 ] || line="$line (see ./$program --help)"
    printf '%s\n' "$line" | diff - err || return 1
    [ $status -eq "$wanted" ] || { echo "status $status" && return 1; }
    diff before after && [ -z "$(find . -name '*.tmp.*')" ]
}
train_refuses() { # LINE [--set VALUE]...: ./train tiny.json --run new
    line=$1
    shift
    refuses 1 "train: $line" train tiny.json --run new "$@" && [ ! -e new ] && return
    ls -A new
    return 1
}

sentences 500 >text.txt
cat >tiny.json <<'END'
{"data": {"train": "text.txt", "valid": "text.txt"},
 "tokenizer": {"vocab_size": 300, "special_tokens": ["<|endoftext|>"]},
 "model": {"context_length": 16, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 32},
 "training": {"batch_size": 2, "max_steps": 8, "checkpoint_every": 4, "eval_batches": 1, "sample_every": 0}}
END
cat >ids.json <<'END'
{"data": {"train": "ids.npy", "valid": "ids.npy"},
 "model": {"vocab_size": 50, "context_length": 16, "d_model": 16, "num_layers": 1, "num_heads": 2, "d_ff": 32},
 "training": {"batch_size": 2, "max_steps": 2, "eval_batches": 1}}
END
: >empty.txt
printf 'The cat' >short.txt
mkdir folder
"$bin/train" tiny.json --run good >out 2>&1 || { cat out && exit 1; }
"$bin/train" tiny.json --run other --set tokenizer.vocab_size=290 >out 2>&1 || { cat out && exit 1; }

# npy FILE SHAPE COUNT ID [TYPE]: an array file of COUNT times the id
npy() {
    {
        printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '${5:-<u2}', 'fortran_order': False, 'shape': $2, }"
        i=0
        while [ $i -lt "$3" ]; do printf '%b' "\\0$(printf %o "$4")\\0000" && i=$((i + 1)); done
    } >"$1"
}
npy ids.npy '(40,)' 40 7
npy big.npy '(40,)' 40 50
npy sixteen.npy '(16,)' 16 7
npy cut.npy '(100,)' 40 7
npy rows.npy '(4, 10)' 40 7
npy floats.npy '(20,)' 40 7 '<f4'

# ---- configs: one of each kind; config_refusal_test.c has the rest ------------------------------------
configs() {
    refuses 1 "train: nope.json: no such file; check the path" train nope.json &&
        refuses 1 "train: folder: is a directory; a file is needed here" train folder &&
        refuses 1 "train: empty.txt: is empty; a JSON value is needed here" train empty.txt &&
        head -c 20 tiny.json >cut.json &&
        refuses 1 "train: cut.json: line 1, column 21: the text ends inside a string" train cut.json &&
        { cat tiny.json && echo x; } >more.json &&
        refuses 1 "train: more.json: line 5, column 1: unexpected text after the end of the JSON value" train more.json &&
        sed 's/"d_ff": 32/"d_ff": 32, "d_ff": 64/' tiny.json >twice.json &&
        refuses 1 'train: twice.json: line 3, column 94: the key "d_ff" is here for the second time' train twice.json &&
        { cat tiny.json && printf '\0'; } >nul.json &&
        refuses 1 "train: nul.json: line 5, column 1: a NUL byte; JSON is text" train nul.json
}
check "a config that is missing, a folder, empty, cut, followed by text, with a key twice, with NUL" configs
byte_order_mark() {
    { printf '\357\273\277' && cat tiny.json; } >bom.json
    "$bin/train" bom.json --run bom --set training.max_steps=0
}
check "a config with a byte order mark is read" byte_order_mark
values() {
    set_refuses() { train_refuses "tiny.json with --set $1: $2" --set "$1"; }
    set_refuses model.d_modle=3 'unknown key "model.d_modle"; did you mean "d_model"?' &&
        set_refuses 'model.d_model="x"' 'model.d_model is "x"; it must be a whole number from 1 to 1048576' &&
        set_refuses model.d_model=1.5 'model.d_model is 1.5; it must be a whole number from 1 to 1048576' &&
        set_refuses training.batch_size=-1 'training.batch_size is -1; it must be a whole number from 1 to 16777216' &&
        set_refuses training.learning_rate.max=1e30 'training.learning_rate.max is 1e+30; it must be a number in [0, 1e6]' &&
        set_refuses model.norm=prepost 'model.norm is "prepost"; it must be "pre", "post" or "none"' &&
        set_refuses model.num_heads=3 'model.num_heads is 3; it must divide model.d_model (16)' &&
        train_refuses 'model.vocab_size is 100, but the tokenizer has 300 tokens; raise it or leave it out' --set model.vocab_size=100 &&
        train_refuses 'tiny.json: model.d_model is 6 and model.num_heads 2, which makes heads of 3 elements; rope turns them in pairs and needs an even number' --set model.d_model=6 &&
        train_refuses '--set training: must be KEY=VALUE, with dots between the parts of the key, as in training.max_steps=50' --set training
}
check "values: unknown, of the wrong type, out of range, heads that do not fit" values
too_large() {
    "$bin/train" tiny.json --run new --set model.d_model=65536 --set training.batch_size=64 >out 2>err
    [ $? -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && [ ! -e new ] &&
        grep -q '^train: this training needs [0-9.]* GB of memory and the \(machine\|container\) has [0-9.]* GB; make training.batch_size' err
}
check "a model larger than the machine" too_large

# ---- texts and ids ------------------------------------------------------------------------------------
texts() {
    for key in train valid; do
        train_refuses "nope.txt: no such file; check the path" --set data.$key=nope.txt &&
            train_refuses "folder: is a directory; a file is needed here" --set data.$key=folder &&
            train_refuses "empty.txt: is empty; put some text in it" --set data.$key=empty.txt || return 1
    done
    refuses 1 "train: nope.txt: no such file; check the path" train tiny.json --text nope.txt &&
        train_refuses "data/a: no such file, nor any other that data.train lists; get TinyStories with scripts/get_tinystories.sh, or make our own stories with: make data" \
            --set 'data={"train": ["data/a", "data/b"]}' &&
        train_refuses "short.txt: has 2 tokens, but a window needs 17 (context_length + 1); use a longer text or a smaller model.context_length" \
            --set data.train=short.txt &&
        train_refuses "short.txt: has 4 tokens, but a window needs 17 (context_length + 1); use a longer text or a smaller model.context_length" \
            --set data.valid=short.txt
}
check "texts that are missing, folders, empty, shorter than a window" texts
arrays() {
    ids_refuse() { refuses 1 "train: $2" train ids.json --run new --set "data.train=$1" && [ ! -e new ]; }
    damaged="the file is cut short or damaged, make it again"
    ids_refuse big.npy "big.npy: id 50 at position 0 is outside of the vocabulary (50); set model.vocab_size, or encode the text with this model's tokenizer" &&
        ids_refuse sixteen.npy "sixteen.npy: has 16 tokens, but a window needs 17 (context_length + 1); use a longer text or a smaller model.context_length" &&
        ids_refuse cut.npy "cut.npy: its header announces 100 ids of 2 bytes, but 80 bytes follow; $damaged" &&
        ids_refuse rows.npy "rows.npy: its shape is (4,10); token ids must be one row, shape (count,)" &&
        ids_refuse floats.npy "floats.npy: holds numbers of type '<f4'; token ids must be little-endian uint16 or uint32, save them with array.astype('<u2') or '<u4'" &&
        ids_refuse text.txt "text.txt: is text, and the config has no \"tokenizer\" to turn it into ids; add one, or name an .npy file of ids"
}
check "ids outside of the vocabulary, too few, cut short, of another shape or type, text in their place" arrays
shared_ids() { # raw uint16, one of them beyond the vocabulary
    count=$(($(wc -c <"$1/cases/data/d04_id_out_of_range.u16") / 2))
    npy shared.npy "($count,)" 0 0 && cat "$1/cases/data/d04_id_out_of_range.u16" >>shared.npy
    "$bin/train" ids.json --run new --set data.train=shared.npy --set model.vocab_size=262 --set model.context_length=4 >out 2>err
    [ $? -eq 1 ] && [ ! -e new ] && [ "$(wc -l <err)" -eq 1 ] && cat err &&
        grep -q '^train: shared.npy: id [0-9]* at position [0-9]* is outside of the vocabulary (262)' err
}
check "ids outside of the vocabulary in a file of the cases" shared_ids "$root/tests/fixtures"
[ ! -d "$shared" ] || check "ids outside of the vocabulary in a shared file" shared_ids "$shared"
unreadable() {
    cp text.txt secret.txt && chmod 000 secret.txt && chmod 755 . &&
        setpriv --reuid 65534 --clear-groups "$bin/tokenize" split --input secret.txt 2>err
    [ $? -eq 1 ] && cat err && grep -qx 'tokenize split: secret.txt: cannot be read: Permission denied; check its permissions' err
}
if command -v setpriv >/dev/null && [ "$(id -u)" -eq 0 ] && setpriv --reuid 65534 --clear-groups "$bin/tokenize" --version >/dev/null 2>&1; then
    check "a file without permission" unreadable
else
    skip "a file without permission" "cannot become another user"
fi

# ---- tokenizers ---------------------------------------------------------------------------------------
damage() { # a copy of the run, to be damaged
    rm -rf bad && cp -R good bad
}
tokenizers() {
    train_refuses "nope: no such file; check the path" --set 'tokenizer={"load": "nope"}' &&
        train_refuses "folder: has neither vocab.json with merges.txt nor tokenizer.json; give the folder of a tokenizer" --set 'tokenizer={"load": "folder"}' &&
        refuses 1 'tokenize encode: text.txt: line 1: the token is not base64; a tokenizer is a folder with vocab.json and merges.txt, a tokenizer.json, or lines "base64 rank" as tiktoken has them' \
            tokenize encode --tokenizer text.txt --input text.txt &&
        damage && echo '{' >bad/tokenizer/vocab.json &&
        refuses 1 "generate: bad/tokenizer/vocab.json: line 2, column 1: the text ends too early; a value, a } or a ] is missing" generate --run bad &&
        damage && : >bad/tokenizer/merges.txt &&
        refuses 1 "generate: bad/tokenizer: is not the tokenizer that this run was trained with; put the right one back" generate --run bad
}
check "tokenizers that are missing, none, damaged" tokenizers
another_tokenizer() {
    damage && cp other/tokenizer/* bad/tokenizer/ &&
        refuses 1 "generate: bad/tokenizer: is not the tokenizer that this run was trained with; put the right one back" generate --run bad &&
        refuses 1 "evaluate: bad/tokenizer: is not the tokenizer that this run was trained with; put the right one back" evaluate --run bad &&
        refuses 1 "train: bad/checkpoint.safetensors: was trained with another tokenizer than the one in its run directory; put the right one back, or start over with --fresh" \
            train tiny.json --run bad --resume &&
        refuses 1 "train: other: was trained with another tokenizer than this config makes; take that one with --set 'tokenizer={\"load\": \"other/tokenizer\"}'" \
            train tiny.json --run new --init-from other
}
check "a tokenizer of another run" another_tokenizer

# ---- runs, models, checkpoints ------------------------------------------------------------------------
runs() {
    refuses 1 "train: good: already holds a trained run; continue it with --resume, start over with --fresh, or name another folder with --run" train tiny.json --run good &&
        refuses 1 "train: text.txt: is not a directory; remove it or choose another name" train tiny.json --run text.txt &&
        refuses 1 "train: good/checkpoint.safetensors: was trained with model.d_ff = 32, and the config now says 64; use the config of that run, or start over with --fresh" \
            train tiny.json --run good --resume --set model.d_ff=64 &&
        train_refuses "nope: no such file; check the path" --init-from nope &&
        train_refuses "good/model.safetensors: the tensor 'token_embeddings.weight' is 300 x 16, and the model's config asks for 300 x 32" --init-from good --set model.d_model=32 &&
        refuses 1 "generate: runs: no trained run there; train one (./train configs/tiny.json) or name one with --run" generate &&
        refuses 1 "generate: nope: no such file; check the path" generate --run nope &&
        refuses 1 "generate: folder: has no config.json; a model directory has one" generate --run folder &&
        refuses 1 "evaluate: text.txt: is not a recognized model format: a directory with config.json, .safetensors, .gguf or .bin" evaluate --model text.txt
}
check "runs that are there already, missing, none, of another model" runs
models() {
    damage && cp other/model.safetensors bad/ &&
        refuses 1 "generate: bad/model.safetensors: the tensor 'token_embeddings.weight' is 290 x 16, and the model's config asks for 300 x 16" generate --run bad &&
        damage && rm bad/model.safetensors &&
        refuses 1 "generate: bad/model.safetensors: no such file; check the path" generate --run bad &&
        damage && : >bad/model.safetensors &&
        refuses 1 "generate: bad/model.safetensors: is too short for a safetensors file; copy or write it again" generate --run bad &&
        damage && size=$(wc -c <good/model.safetensors) && head -c $((size - 10)) good/model.safetensors >bad/model.safetensors &&
        "$bin/generate" --run bad >out 2>err
    [ $? -eq 1 ] && cat err && [ "$(wc -l <err)" -eq 1 ] &&
        grep -q "^generate: bad/model.safetensors: the data_offsets of tensor 'lm_head.weight' do not lie within .* bytes of data; the file is cut short or damaged$" err
}
check "models of another run, missing, empty, cut short" models
flip() { # FILE PLACE: another byte there
    byte=$(od -An -tu1 -j "$2" -N 1 "$1" | tr -d ' ')
    printf '%b' "\\0$(printf %o $((255 - byte)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
checkpoints() {
    before="the one before it is bad/checkpoint.previous.safetensors: rename it to resume from it"
    size=$(wc -c <good/checkpoint.safetensors)
    for place in $((size / 3)) $((size - 1)); do
        damage && flip bad/checkpoint.safetensors $place &&
            refuses 1 "train: bad/checkpoint.safetensors: its checksum does not match its content; the file is damaged; $before" \
                train tiny.json --run bad --resume --set training.max_steps=10 || return 1
    done
    : >bad/checkpoint.safetensors
    refuses 1 "train: bad/checkpoint.safetensors: is too short for a safetensors file; copy or write it again; $before" train tiny.json --run bad --resume &&
        damage && cp good/model.safetensors bad/checkpoint.safetensors && rm bad/checkpoint.previous.safetensors &&
        refuses 1 "train: bad/checkpoint.safetensors: is not a checkpoint of this program; give a run's checkpoint.safetensors" train tiny.json --run bad --resume &&
        damage && head -c $((size - 10)) good/checkpoint.safetensors >bad/checkpoint.safetensors &&
        "$bin/train" tiny.json --run bad --resume >out 2>err
    [ $? -eq 1 ] && cat err && [ "$(wc -l <err)" -eq 1 ] && grep -q "the file is cut short or damaged; $before$" err || return 1
    # and what the line says works
    mv bad/checkpoint.previous.safetensors bad/checkpoint.safetensors &&
        "$bin/train" tiny.json --run bad --resume && cmp bad/model.safetensors good/model.safetensors
}
check "checkpoints with a flipped bit, empty, cut short, none; the one before it is named" checkpoints

# ---- the loss -----------------------------------------------------------------------------------------
not_finite() {
    # stopped at a step after the first checkpoint: it stays, byte for byte
    "$bin/train" tiny.json --run wild --threads 1 --set training.max_steps=2 --set training.checkpoint_every=1 >out 2>&1 || return 1
    cp wild/checkpoint.safetensors kept
    "$bin/train" tiny.json --run wild --threads 1 --resume --set training.grad_clip=0 --set training.learning_rate.max=1e6 \
        --set training.learning_rate.schedule=constant --set training.checkpoint_every=100 >out 2>err
    [ $? -eq 1 ] && cat err && [ "$(wc -l <err)" -eq 1 ] && cmp kept wild/checkpoint.safetensors &&
        grep -qE '^train: step [4-8]: the (loss|gradient norm) is not finite, learning rate 1e\+06; it arose in (layers\.0\.(attn|ffn)|lm_head|ln_final|embedding|backward).*; lower training\.learning_rate\.max or raise warmup_steps there; the last good checkpoint is wild/checkpoint\.safetensors, of step 2$' err
}
check "a loss that is not finite: step, learning rate, layer, checkpoint" not_finite
not_finite_in_validation() {
    "$bin/train" tiny.json --run wild --threads 1 --resume --set training.grad_clip=0 --set training.learning_rate.max=1e6 \
        --set training.learning_rate.schedule=constant --set training.checkpoint_every=100 --set training.eval_every=1 >out 2>err
    [ $? -eq 1 ] && cat err && [ "$(wc -l <err)" -eq 1 ] && cmp kept wild/checkpoint.safetensors &&
        grep -qE '^train: step 3: the validation loss is not finite, learning rate 1e\+06; lower training\.learning_rate\.max or raise warmup_steps there; the last good checkpoint is wild/checkpoint\.safetensors, of step 2$' err
}
check "a validation loss that is not finite: step, learning rate, checkpoint" not_finite_in_validation
poisoned() {
    # the weights of another run, one of them NaN: the place is the first operation that uses it
    cp -R good poison && rm poison/checkpoint*
    header=$(od -An -tu4 -N4 good/model.safetensors | tr -d ' ')
    offset=$(head -c $((header + 8)) good/model.safetensors | tail -c "$header" |
        sed 's/.*"layers\.0\.ffn\.w2\.weight":{[^}]*"data_offsets":\[\([0-9]*\),.*/\1/')
    printf '\000\000\300\177' | dd of=poison/model.safetensors bs=1 seek=$((header + 8 + offset)) conv=notrunc 2>/dev/null
    "$bin/train" tiny.json --run new --init-from poison >out 2>err
    status=$?
    cat err
    ls new
    [ $status -eq 1 ] && [ ! -e new/checkpoint.safetensors ] && [ ! -e new/model.safetensors ] &&
        grep -q '^train: step 1: the loss is not finite, learning rate [0-9.e+-]*; it arose in layers.0.ffn (.*); .*; there was no checkpoint yet$' err
    status=$?
    rm -rf new
    return $status
}
check "a weight that is not finite is found in its layer" poisoned

# ---- disks, signals, two at once ----------------------------------------------------------------------
full_output() {
    for command in "tokenize show --tokenizer good/tokenizer cat" "inspect model good" \
        "evaluate --run good --text short.txt" "train tiny.json --run good --resume"; do
        # shellcheck disable=SC2086 # a command line without spaces in its words
        "$bin/"$command >/dev/full 2>err
        if [ $? -ne 1 ] || [ "$(wc -l <err)" -ne 1 ]; then
            echo "$command" && cat err
            return 1
        fi
    done
}
if [ -w /dev/full ]; then
    check "an output that cannot be written is an error" full_output
else
    skip "an output that cannot be written is an error" "no /dev/full"
fi
full_disk() {
    # enough for the run's small files, not for a second checkpoint
    cp good/checkpoint.safetensors small/filler && "$bin/train" tiny.json --run small/run --set model.d_ff=2048 \
        --set training.checkpoint_every=1 >out 2>err
    status=$?
    cat err
    find small
    [ $status -eq 1 ] && [ "$(wc -l <err)" -eq 1 ] && grep -q '^train: small/run/.*: cannot be written: No space left on device' err &&
        [ -z "$(find small -name '*.tmp.*')" ]
}
if mkdir small && mount -t tmpfs -o size=1m tmpfs small 2>/dev/null; then
    check "a full disk is one line, and no partial file stays" full_disk
    umount small
else
    skip "a full disk is one line, and no partial file stays" "cannot mount a small one"
fi
interrupted() { # COMMAND...: a second of it, then Ctrl-C; no file of its own may be left
    rm -rf data err out
    (exec env --default-signal=INT "$@" >out 2>err) &
    pid=$!
    tries=0
    while [ -z "$(find . -name '*.tmp.*')" ] && ! grep -qs "^training a tokenizer" out && [ $tries -lt 100 ]; do
        sleep 0.02
        tries=$((tries + 1))
    done
    kill -INT $pid
    wait $pid
    status=$?
    cat out err
    find . -name '*.tmp.*'
    [ $status -eq 130 ] && [ -z "$(find . -name '*.tmp.*')" ]
}
early() {
    interrupted "$bin/train" tiny.json --run new --text long.txt --set tokenizer.vocab_size=5000 &&
        grep -q 'train: interrupted before the first step; no partial files are left, run the same command again to restart' err &&
        [ -z "$(find data new -type f 2>/dev/null)" ]
}
encoding() {
    interrupted "$bin/tokenize" encode --tokenizer good/tokenizer --input long.txt --output long.npy --threads 1 &&
        grep -qx 'tokenize: interrupted; no file was written' err && [ ! -e long.npy ]
}
awk 'BEGIN { for (i = 0; i < 900000; i++) { w = (i * 7919) % 100003; printf "%c%c%c%c ", 97 + w % 26, 97 + int(w / 26) % 26, 97 + int(w / 676) % 26, 97 + i % 26 } }' >long.txt
check "Ctrl-C while a tokenizer is trained: nothing is left, and a word about it" early
check "Ctrl-C while a text is encoded" encoding
rm -rf long.txt new
no_run_yet() {
    mkdir later && "$bin/train" tiny.json --run later --resume --set training.max_steps=1 >out && grep -qx 'later: has no checkpoint to resume yet; this starts with step 1' out
}
check "--resume without a checkpoint says so" no_run_yet

# ---- a text of one's own ------------------------------------------------------------------------------
own_text() {
    head -c 10000 text.txt >'my own.txt'
    "$bin/train" tiny.json --text 'my own.txt' --set training.max_steps=300 --set training.batch_size=16 \
        --set training.eval_every=0 >out 2>err || return 1
    cat out
    grep -q '^note: the run reads this text [0-9]* times; a model may learn it by heart (overfitting): watch the validation loss$' out &&
        grep -q 'validation: its last [0-9]* tokens, held out$' out && [ -s 'runs/my own/model.safetensors' ] &&
        grep -q "the run is in runs/my own; a story: ./generate --run 'runs/my own'$" out
}
check "10 kB of one's own text: held out by itself, with a word about overfitting" own_text

# ---- wrong usage --------------------------------------------------------------------------------------
usage() {
    refuses 2 "train: name a config, such as configs/tiny.json" train &&
        refuses 2 "train: unknown option --reusme; did you mean --resume?" train tiny.json --reusme &&
        refuses 2 "train: --resume and --fresh exclude each other" train tiny.json --resume --fresh &&
        refuses 2 'train: --threads is "x"; it must be a whole number from 0 to 1024' train tiny.json --threads x &&
        refuses 2 'train: unexpected argument "other.json"' train tiny.json other.json &&
        refuses 2 "generate: --seed needs a value: --seed S" generate --seed &&
        refuses 2 'tokenize: unknown command comparre; did you mean compare?' tokenize comparre &&
        refuses 2 "inspect: a command is missing" inspect &&
        refuses 2 "convert: FROM is missing: a run directory, .safetensors, Hugging Face directory, .gguf or .bin" convert &&
        refuses 2 "evaluate: --logits needs --ids \"1 2 3\"" evaluate --run good --logits
}
check "wrong usage is one line and status 2" usage
outputs() {
    refuses 1 "tokenize encode: nowhere/x.npy: cannot be written, its folder is not there; make it first" tokenize encode --tokenizer good/tokenizer --input text.txt --output nowhere/x.npy &&
        refuses 1 "tokenize encode: folder: is a directory; give the name of a file to write" tokenize encode --tokenizer good/tokenizer --input text.txt --output folder &&
        refuses 1 "tokenize train: text.txt: is not a directory; remove it or choose another name" tokenize train --input short.txt --vocab-size 300 --output text.txt &&
        refuses 1 "convert: nowhere/x.gguf: cannot be written, its folder is not there; make it first" convert good nowhere/x.gguf
}
check "outputs that cannot be" outputs
