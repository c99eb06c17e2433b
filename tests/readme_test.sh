#!/bin/sh
# What the README says is so: every command in its ```sh blocks runs, its config is accepted, and the options, files
# and config keys it names exist.
#
# The commands run one after the other in a folder with the programs, scripts and configs, where configs/tiny.json is
# made tiny (12 steps of a model of 32 channels) and the tasks short, the corpus is 80 kB of tales, and `make` builds nothing: the goals are
# looked up in the Makefile only. scripts/test.sh is asked for --help, since this test is a part of it.
# shellcheck source=lib.sh source-path=SCRIPTDIR
. "$(dirname -- "$0")/lib.sh"
build=$(cd -- "$root" && cd -- "${BUILD:-build}" && pwd) || exit 1
readme=$root/README.md

# ---- the folder ----

home=$work/home
mkdir -p "$home/build" "$home/data/tales" "$work/shims"
cp -R "$root/scripts" "$root/configs" "$readme" "$home/"
cp "$root/data/tales/tales.grammar" "$home/data/tales/"
for program in train generate evaluate tokenize convert inspect; do
    ln -s "$bin/$program" "$home/$program"
done
sed -e 's/"vocab_size": 4096/"vocab_size": 500/' -e 's/"context_length": 256/"context_length": 64/' \
    -e 's/"d_model": 128, "num_layers": 4, "num_heads": 4, "d_ff": 384/"d_model": 32, "num_layers": 2, "num_heads": 2, "d_ff": 64/' \
    -e 's/"batch_size": 16, "max_steps": 1000/"batch_size": 4, "max_steps": 12/' -e 's/"warmup_steps": 100/"warmup_steps": 2/' \
    "$root/configs/tiny.json" >"$home/configs/tiny.json"
for task in "$home"/configs/positions/*.json; do
    sed 's/"max_steps": 400/"max_steps": 50/' "$task" >"$work/task" && cp "$work/task" "$task"
done
cat >"$work/shims/make" <<END
#!/bin/sh
# make without building: knows the goals of the Makefile, and makes a small corpus
for goal; do
    case \$goal in
    -*) ;;
    data)
        "$build/make_tales" --seed 1 --size 80kB --output data/tales/train.txt &&
        "$build/make_tales" --seed 2 --size 20kB --output data/tales/valid.txt ;;
    [0-9]*) ;;
    *) grep -q "^\$goal:" "$root/Makefile" || { echo "make: no goal \$goal" >&2; exit 2; } ;;
    esac
done
END
chmod +x "$work/shims/make"
PATH=$work/shims:$PATH
cd "$home" || exit 1
made_tiny() { grep -q '"max_steps": 12' configs/tiny.json && grep -q '"d_model": 32' configs/tiny.json; }
check "configs/tiny.json can be made tiny" made_tiny

# ---- the commands ----

# The lines of ```sh blocks, without the comments at their ends.
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside && NF' "$readme" |
    sed 's/  *# .*$//' >"$work/commands"
enough() { [ "$(wc -l <"$work/commands")" -ge 30 ]; }
check "the README has its commands" enough

run_command() {
    echo "$command"
    case $command in
    scripts/test.sh) sh -c "$command --help" ;;
    *) sh -c "$command" ;;
    esac </dev/null
}
while read -r command; do
    check "$command" run_command
done <"$work/commands"

# Names in passing: `make …` and scripts outside of blocks.
# shellcheck disable=SC2016 # backquotes of the README
grep -o '`make [a-z-]*`' "$readme" | tr -d '`' | sort -u >"$work/goals"
while read -r command; do
    check "$command" run_command
done <"$work/goals"

# ---- what it names ----

awk '/^```json$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$readme" >example.json
example() { ./train example.json --set training.max_steps=0; }
check "the config in the README is accepted" example

# Every option in backquotes belongs to some program or script.
options() {
    for program in train generate evaluate convert; do "./$program" --help; done >helps
    for program in tokenize inspect; do
        "./$program" --help >all && cat all >>helps
        # shellcheck disable=SC2013 # one word a line
        for command in $(awk '/^  [a-z]/ { print $1 }' all); do "./$program" "$command" --help >>helps; done
    done
    ! grep -E '^.{81}' helps || return 1 # no line of a help is longer than 80 columns
    for script in scripts/*.sh; do sed -n '2,/^[^#]/p' "$script"; done >>helps
    sed 's/<!--.*-->//' "$readme" | grep -o -e '--[a-z][a-z-]*' | sort -u >options
    while read -r option; do
        grep -qwF -e "$option" helps || { echo "no program knows $option" && return 1; }
    done <options
    [ "$(wc -l <options)" -ge 10 ]
}
check "the options it names exist" options

files() {
    sed 's/<!--.*-->//' "$readme" | grep -oE '(src|scripts|configs|tests)/[A-Za-z0-9_./-]*[A-Za-z0-9_/]' |
        sort -u >files
    while read -r file; do
        [ -e "$root/$file" ] || { echo "there is no $file" && return 1; }
    done <files
    [ "$(wc -l <files)" -ge 30 ]
}
check "the files it names exist" files
# shellcheck disable=SC2016 # backquotes of the README
bare_names() {
    sed 's/<!--.*-->//' "$readme" | grep -oE '`[a-z0-9_]+\.c`' | tr -d '`' | sort -u >names
    while read -r name; do
        [ -n "$(find "$root/src" -name "$name")" ] || { echo "there is no $name" && return 1; }
    done <names
}
check "the sources it names without a folder exist" bare_names

run_files() {
    for file in config.json tokenizer/vocab.json tokenizer/merges.txt tokenizer/special_tokens.json \
        tokenizer/tokenizer.json log.csv loss.svg model.safetensors best.safetensors checkpoint.safetensors samples.txt; do
        [ -s "runs/tiny/$file" ] || { echo "runs/tiny/$file is not there" && return 1; }
    done
}
check "a run directory holds what the README says" run_files

# "The same config, seed, number of threads and machine give the same bits", checked here by running.
repeats() {
    for threads in 1 3; do
        for turn in a b; do
            ./train configs/tiny.json --fresh --run "runs/$turn" --threads $threads || return 1
        done
        cmp runs/a/model.safetensors runs/b/model.safetensors && cmp runs/a/samples.txt runs/b/samples.txt || return 1
        cut -d, -f1,2,4-7 runs/a/log.csv >a && cut -d, -f1,2,4-7 runs/b/log.csv | cmp - a || return 1
    done
}
check "the same number of threads gives the same bits" repeats
