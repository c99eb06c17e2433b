#!/usr/bin/env python3
"""Exports of a small trained model, loaded by the programs they are made for, and the other way round.

Run from the top of the project after make, in the environment of scripts/interop.sh. Prints TAP.
A peer that cannot be imported is skipped, and llama2.c's run.c unless TINYLM_RUN_C names it.
"""

import importlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import traceback

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("TINYLM_SHARED", "../shared")
SCRATCH = tempfile.mkdtemp(prefix="tinylm_interop_")
TESTS = []


class Skip(Exception):
    pass


def test(function):
    TESTS.append(function)
    return function


def peer(name):
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    os.environ["OMP_NUM_THREADS"] = "1"  # small models: more threads would only wait for each other
    os.environ["TQDM_DISABLE"] = "1"
    try:
        return importlib.import_module(name)
    except ImportError:
        raise Skip(f"{name} is not installed")


def run(*command, check=True):
    result = subprocess.run(command, capture_output=True)
    if check and result.returncode != 0:
        raise AssertionError(f"{' '.join(command)}: {result.stderr.decode()}")
    return result.stdout.decode(errors="replace")


def program(name):
    if not os.access(f"./{name}", os.X_OK):
        raise Skip(f"./{name} is not built")
    return f"./{name}"


def logits_of(model, ids):
    text = run(program("evaluate"), "--model", model, "--ids", " ".join(map(str, ids)), "--logits",
               "--threads", "1")
    return np.array([[float(x) for x in line.split()] for line in text.splitlines()])


def check_greedy(name, model, ids, theirs, ends=(0,)):
    """Our greedy ids after the given ones are theirs, up to a token that ends the text."""
    text = run(program("generate"), "--model", model, "--prompt-ids", " ".join(map(str, ids)), "--ids",
               "--temperature", "0", "--max-tokens", str(len(theirs)), "--threads", "1")
    ours = [int(x) for x in text.split()]
    assert ours[: len(ids)] == ids
    ours = ours[len(ids) :]
    assert ours == theirs[: len(ours)], f"{name}: greedy {ours} and {theirs}"
    assert len(ours) == len(theirs) or ours[-1] in ends, f"{name}: stopped after {len(ours)}"


STORY = """Once upon a time there was a little fox. The fox lived in a big wood with her mother.
One day the fox said, "I want to see the sea!" "It is 12 miles away," said her mother, "but we'll go."
They walked and walked. The sun was hot, the sand was warm, and the sea was très bleue – like the sky.
The fox played in the water all day. She didn't want to go home. At night they slept under the stars.
<|endoftext|>
A boy had a red ball. He threw the ball up, up, up! It fell on the roof. "Oh no," said the boy.
His big sister got a long stick. She pushed the ball, and it rolled down. The boy was very happy.
"Thank you!" he said. They played together until the moon came out.
<|endoftext|>
"""

VARIANTS = {
    "plain": {},
    "grouped": {"num_kv_heads": 2},
    "tied": {"tie_embeddings": True},
    "half": {"position": {"type": "rope", "layout": "half", "theta": 5000}},
    "linear": {"position": {"type": "rope", "scaling": {"type": "linear", "factor": 2}}},
    "yarn": {"position": {"type": "rope", "scaling": {"type": "yarn", "factor": 4, "original_context": 24}}},
    "yarn_attention": {"position": {"type": "rope", "scaling": {"type": "yarn", "factor": 4, "original_context": 24,
                                                                "attention_factor": 1.5}}},
    "llama3": {"position": {"type": "rope", "scaling": {"type": "llama3", "factor": 8, "original_context": 16}}},
    "ntk": {"position": {"type": "rope", "scaling": {"type": "ntk", "factor": 3}}},
    "dynamic": {"position": {"type": "rope", "scaling": {"type": "dynamic_ntk", "factor": 3}}},
}
# transformers' max_position_embeddings is the original context, so that its export has another context length
OTHERS = {
    "dynamic_long": {"position": {"type": "rope", "scaling": {"type": "dynamic_ntk", "factor": 2, "original_context": 24}}},
}
RUNS = {}


def trained(name):
    """The run directory of a variant, trained for a few seconds the first time."""
    if name not in RUNS:
        text = os.path.join(SCRATCH, "story.txt")
        with open(text, "w", encoding="utf-8") as file:
            file.write(STORY * 20)
        model = {"context_length": 96, "d_model": 64, "num_layers": 2, "num_heads": 4, "d_ff": 160}
        config = {
            "name": name, "data": {"train": text},
            "tokenizer": {"vocab_size": 400, "special_tokens": ["<|endoftext|>"]},
            "model": model | (VARIANTS | OTHERS)[name],
            "training": {"batch_size": 8, "max_steps": 40, "learning_rate": {"max": 1e-2}},
        }
        path = os.path.join(SCRATCH, name + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(config, file)
        RUNS[name] = os.path.join(SCRATCH, "run-" + name)
        run(program("train"), path, "--run", RUNS[name], "--threads", "1")
    return RUNS[name]


def exported(name, kind, *options):
    target = os.path.join(SCRATCH, name + {"hf": "-hf", "gguf": ".gguf", "llama2c": ".bin"}[kind])
    if kind == "llama2c":  # tokenizer.bin goes beside the model: a folder for each
        os.makedirs(os.path.join(SCRATCH, name + "-l2c"), exist_ok=True)
        target = os.path.join(SCRATCH, name + "-l2c", "model.bin")
    if not os.path.exists(target):
        run(program("convert"), trained(name), target, "--to", kind, *options)
    return target


def prompt_ids(run_directory):
    tokenizers = peer("tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(os.path.join(run_directory, "tokenizer", "tokenizer.json"))
    return tokenizer.encode("<|endoftext|>Once upon a time the boy didn't see 12 stars").ids


def close(name, ours, theirs, tolerance):
    difference = np.abs(ours - theirs).max()
    assert ours.shape == theirs.shape, f"{name}: {ours.shape} and {theirs.shape}"
    assert difference < tolerance, f"{name}: logits differ by {difference:.2e}"
    return difference


@test
def transformers_gives_the_same_logits_and_greedy_tokens():
    torch, transformers = peer("torch"), peer("transformers")
    worst = 0
    for name in VARIANTS:
        ids = prompt_ids(trained(name))
        model = transformers.LlamaForCausalLM.from_pretrained(exported(name, "hf"))
        with torch.no_grad():
            theirs = model(torch.tensor([ids])).logits[0].double().numpy()
            everything = torch.ones(1, len(ids), dtype=torch.int64)  # else id 0 is taken for padding
            longer = model.generate(torch.tensor([ids]), attention_mask=everything, max_new_tokens=64,
                                    do_sample=False, eos_token_id=None, pad_token_id=0)[0].tolist()[len(ids):]
        for source in (trained(name), exported(name, "hf")):
            worst = max(worst, close(name, logits_of(source, ids), theirs, 1e-4))
        check_greedy(name, trained(name), ids, longer)
    return f"{len(VARIANTS)} variants, largest difference {worst:.1e}"


@test
def dynamic_frequencies_are_those_of_transformers():
    """One pass over n tokens, and greedy generation with our cache, below and above the original context."""
    torch, transformers = peer("torch"), peer("transformers")
    directory, ids = exported("dynamic_long", "hf"), list(range(2, 242, 3))
    model = transformers.LlamaForCausalLM.from_pretrained(directory)
    worst = 0
    for n in (5, 23, 24, 25, 50, 80):
        with torch.no_grad():
            theirs = model(torch.tensor([ids[:n]])).logits[0].double().numpy()
        worst = max(worst, close(f"{n} tokens", logits_of(trained("dynamic_long"), ids[:n]), theirs, 1e-4))
    for n, more in ((5, 19), (20, 70)):  # short of the original context, and past it
        model = transformers.LlamaForCausalLM.from_pretrained(directory)  # its frequencies depend on what came before
        theirs = model.generate(torch.tensor([ids[:n]]), attention_mask=torch.ones(1, n, dtype=torch.int64),
                                max_new_tokens=more, do_sample=False, eos_token_id=None, pad_token_id=0,
                                use_cache=False)[0].tolist()[n:]
        check_greedy(f"{n} tokens", trained("dynamic_long"), ids[:n], theirs)
    return f"largest difference {worst:.1e}"


@test
def transformers_loads_the_tokenizer():
    transformers = peer("transformers")
    directory = exported("plain", "hf")
    theirs = transformers.AutoTokenizer.from_pretrained(directory)
    ours = peer("tokenizers").Tokenizer.from_file(os.path.join(trained("plain"), "tokenizer", "tokenizer.json"))
    for text in (STORY, "  a\t\n\n b's 3.14 Ünï çödé 漢字 😀", "<|endoftext|>x<|endoftext|>"):
        expected = ours.encode(text).ids
        assert theirs(text, add_special_tokens=False)["input_ids"] == expected
        path = os.path.join(SCRATCH, "text.txt")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        encoded = run(program("tokenize"), "encode", "--tokenizer", os.path.join(trained("plain"), "tokenizer"),
                      "--input", path)
        assert [int(i) for i in encoded.split()] == expected
    assert theirs.eos_token == "<|endoftext|>"


@test
def generation_stops_at_any_end_token():
    torch, transformers = peer("torch"), peer("transformers")
    directory = os.path.join(SCRATCH, "ends-hf")
    run(program("convert"), trained("plain"), directory, "--to", "hf")
    ids = prompt_ids(trained("plain"))

    def continued(config, generation, more=12):
        for name, ends in (("config.json", config), ("generation_config.json", generation)):
            path = os.path.join(directory, name)
            with open(path) as file:
                content = json.load(file)
            with open(path, "w") as file:
                json.dump(content | {"eos_token_id": ends}, file)
        model = transformers.LlamaForCausalLM.from_pretrained(directory)
        everything = torch.ones(1, len(ids), dtype=torch.int64)
        theirs = model.generate(torch.tensor([ids]), attention_mask=everything, max_new_tokens=more,
                                do_sample=False, pad_token_id=0)[0].tolist()
        text = run(program("generate"), "--model", directory, "--prompt-ids", " ".join(map(str, ids)), "--ids",
                   "--temperature", "0", "--max-tokens", str(more), "--threads", "1")
        assert [int(x) for x in text.split()] == theirs, f"{text.split()} and {theirs}"
        return theirs[len(ids):]

    told = continued([0], [0])
    first = next(i for i in range(2, len(told)) if told[i] not in told[:i])
    for config, generation in (([0, told[first]], [0, told[first]]), ([0], [told[first], 0]), (0, told[first]),
                               ([told[first]], [0])):
        continued(config, generation)


@test
def transformers_models_of_other_shapes_are_read():
    """Saved by transformers itself: bfloat16, float16, shards, tied with a stray head."""
    torch, transformers = peer("torch"), peer("transformers")
    torch.manual_seed(1)
    worst = 0
    for number, (kind, tied, shard) in enumerate([("float32", False, "5GB"), ("bfloat16", False, "5GB"),
                                                   ("float16", True, "5GB"), ("float32", False, "30KB")]):
        config = transformers.LlamaConfig(vocab_size=120, hidden_size=32, intermediate_size=56,
                                          num_hidden_layers=3, num_attention_heads=4, num_key_value_heads=2,
                                          max_position_embeddings=64, tie_word_embeddings=tied,
                                          initializer_range=0.3)
        model = transformers.LlamaForCausalLM(config).to(getattr(torch, kind))
        directory = os.path.join(SCRATCH, f"theirs{number}")
        model.save_pretrained(directory, max_shard_size=shard)
        assert (len(os.listdir(directory)) > 4) == (shard == "30KB")
        ids = list(range(1, 60, 3))
        model = transformers.LlamaForCausalLM.from_pretrained(directory, torch_dtype=torch.float32).double()
        with torch.no_grad():
            theirs = model(torch.tensor([ids])).logits[0].numpy()
        worst = max(worst, close(kind, logits_of(directory, ids), theirs, 1e-4))
    return f"largest difference {worst:.1e}"


@test
def base_models_and_compiled_ones_are_read():
    torch, transformers = peer("torch"), peer("transformers")
    torch.manual_seed(2)
    config = transformers.LlamaConfig(vocab_size=120, hidden_size=32, intermediate_size=56, num_hidden_layers=2,
                                      num_attention_heads=4, max_position_embeddings=64, tie_word_embeddings=True,
                                      initializer_range=0.3)
    model = transformers.LlamaForCausalLM(config)
    ids = list(range(1, 60, 3))
    with torch.no_grad():
        theirs = model(torch.tensor([ids])).logits[0].double().numpy()
    base, compiled = os.path.join(SCRATCH, "base"), os.path.join(SCRATCH, "compiled")
    model.model.save_pretrained(base)
    model.save_pretrained(compiled)
    safetensors = peer("safetensors.torch")
    weights = safetensors.load_file(os.path.join(base, "model.safetensors"))
    assert "embed_tokens.weight" in weights
    safetensors.save_file({"_orig_mod.model." + name: w for name, w in weights.items()},
                          os.path.join(compiled, "model.safetensors"))
    for directory in (base, compiled):
        close(directory, logits_of(directory, ids), theirs, 1e-4)


@test
def llama_cpp_gives_the_same_logits_and_greedy_tokens():
    llama_cpp = peer("llama_cpp")
    worst = 0
    for name in VARIANTS:
        if name == "dynamic":  # GGUF cannot hold it
            continue
        ids = prompt_ids(trained(name))
        path = exported(name, "gguf")
        model = llama_cpp.Llama(path, n_ctx=96, n_threads=1, logits_all=True, verbose=False,
                                type_k=0, type_v=0)  # 0: the cache in float32
        model.eval(ids)
        theirs = np.array(model.scores[: len(ids)], dtype=np.float64)
        for source in (trained(name), path):
            worst = max(worst, close(name, logits_of(source, ids), theirs, 1e-4))
        model.reset()
        longer = []
        for token in model.generate(ids, temp=0.0, top_k=1, repeat_penalty=1.0):
            longer.append(token)
            if len(longer) == 64:
                break
        check_greedy(name, trained(name), ids, longer)
    return f"{len(VARIANTS) - 1} variants, largest difference {worst:.1e}"


@test
def llama_cpp_tokenizes_the_same():
    llama_cpp = peer("llama_cpp")
    model = llama_cpp.Llama(exported("plain", "gguf"), vocab_only=True, verbose=False)
    ours = peer("tokenizers").Tokenizer.from_file(os.path.join(trained("plain"), "tokenizer", "tokenizer.json"))
    for text in (STORY, "  a\t\n\n b's 3.14 Ünï çödé 漢字 😀", "<|endoftext|>x<|endoftext|>"):
        ids = model.tokenize(text.encode(), add_bos=False, special=True)
        assert ids == ours.encode(text).ids, f"{ids}\n{ours.encode(text).ids}"
    assert model.token_eos() == 0 and model.token_bos() == 0


@test
def llama_cpp_splits_the_same():
    """GGUF files of tokenizers that split as SmolLM, Llama 3 and GPT-4o: no difference on these texts."""
    llama_cpp, gguf, tokenizers = peer("llama_cpp"), peer("gguf"), peer("tokenizers")
    from tokenizers import Regex, models, pre_tokenizers, trainers
    sys.path.insert(0, os.path.join(HERE, ".."))
    from split_patterns import LLAMA3, O200K
    whole = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    texts = (STORY, "It's I'LL we'Re 1 23 4567890 x=3.14;  a\t\n\n b  \r\n//path/to HELLOWorld aBC ...!\n ",
             "Ünï çödé ÀÉÎ Straße 漢字かな Привет, МИР! 😀 – “quoted” 5€ éa 12345\u3000x\u00a0y")
    for pre, first in (("smollm", pre_tokenizers.Digits(individual_digits=True)),
                       ("llama-bpe", pre_tokenizers.Split(Regex(LLAMA3), "isolated")),
                       ("gpt-4o", pre_tokenizers.Split(Regex(O200K), "isolated"))):
        # trained on whole texts: merges join whatever stands together, so that every cut shows in the ids
        theirs = tokenizers.Tokenizer(models.BPE(ignore_merges=pre == "llama-bpe"))
        theirs.pre_tokenizer = whole
        theirs.train_from_iterator([texts[1]] * 9 + [texts[2]] * 9 + [STORY], trainers.BpeTrainer(
            vocab_size=400, show_progress=False, special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        last = pre_tokenizers.ByteLevel(add_prefix_space=False) if pre == "smollm" else whole
        theirs.pre_tokenizer = pre_tokenizers.Sequence([first, last])
        folder = os.path.join(SCRATCH, pre)
        shutil.copytree(exported("plain", "hf"), folder,
                        ignore=shutil.ignore_patterns("vocab.json", "merges.txt", "special_tokens.json"))
        theirs.save(os.path.join(folder, "tokenizer.json"))
        run(program("convert"), folder, folder + ".gguf", "--to", "gguf")
        written = gguf.GGUFReader(folder + ".gguf").fields["tokenizer.ggml.pre"]
        assert written.contents() == pre, f"{pre}: written as {written.contents()}"
        model = llama_cpp.Llama(folder + ".gguf", vocab_only=True, verbose=False)
        for text in texts:
            ids = model.tokenize(text.encode(), add_bos=False, special=True)
            assert ids == theirs.encode(text).ids, f"{pre}: {text!r}\n{ids}\n{theirs.encode(text).ids}"


@test
def gguf_reads_what_we_write():
    gguf = peer("gguf")
    for options in ([], ["--type", "f16"]):
        path = os.path.join(SCRATCH, f"type{len(options)}.gguf")
        run(program("convert"), trained("plain"), path, *options)
        reader = gguf.GGUFReader(path)
        types = {t.name: t.tensor_type.name for t in reader.tensors}
        assert types["blk.0.attn_q.weight"] == ("F16" if options else "F32")
        assert types["blk.0.attn_norm.weight"] == "F32"
        assert reader.fields["llama.attention.head_count"].parts[-1][0] == 4
        ids = [5, 100, 7]
        close("f16", logits_of(path, ids), logits_of(trained("plain"), ids), 0.05 if options else 1e-5)


@test
def gguf_files_of_the_gguf_package_are_read():
    """Other alignment, tensors in another order, keys of other integer types, bfloat16."""
    gguf = peer("gguf")
    from gguf.quants import quantize

    source = gguf.GGUFReader(exported("grouped", "gguf"))
    path = os.path.join(SCRATCH, "rewritten.gguf")
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    for key, value in (("context_length", 96), ("embedding_length", 64), ("block_count", 2),
                       ("feed_forward_length", 160), ("attention.head_count", 4),
                       ("attention.head_count_kv", 2)):
        writer.add_uint64("llama." + key, value)
    writer.add_float64("llama.attention.layer_norm_rms_epsilon", 1e-5)
    for tensor in reversed(source.tensors):
        shape = tuple(reversed(tensor.shape.tolist()))
        data = np.array(tensor.data).reshape(shape)
        if "ffn_up" in tensor.name:
            writer.add_tensor(tensor.name, quantize(data, gguf.GGMLQuantizationType.BF16),
                              raw_dtype=gguf.GGMLQuantizationType.BF16)
        else:
            writer.add_tensor(tensor.name, data)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    ids = [1, 50, 3, 200]
    close("rewritten", logits_of(path, ids), logits_of(trained("grouped"), ids), 0.05)


@test
def round_trips_keep_logits_bit_for_bit():
    ids = list(range(0, 90, 2))
    for name in ("plain", "grouped", "tied"):
        for kind in ("hf", "gguf", "llama2c"):
            first = exported(name, kind)
            folder = os.path.join(SCRATCH, f"round-{name}-{kind}")
            os.makedirs(folder)
            ours = os.path.join(folder, "ours")
            second = os.path.join(folder, {"hf": "x-hf", "gguf": "x.gguf", "llama2c": "x.bin"}[kind])
            run(program("convert"), first, ours, "--to", "tinylm")
            run(program("convert"), ours, second, "--to", kind)
            logits = [logits_of(model, ids) for model in (first, ours, second)]
            assert (logits[0] == logits[1]).all() and (logits[0] == logits[2]).all(), f"{name} {kind}"


@test
def numpy_gives_stories260k():
    """Logits and 200 greedy tokens of a real llama2.c model, against numpy in float64."""
    model = f"{SHARED}/data/models/stories260K.bin"
    tokenizer = f"{SHARED}/data/models/tok512.bin"
    if not os.path.exists(model):
        raise Skip("no stories260K.bin")
    reference = [sys.executable, os.path.join(HERE, "llama2c_reference.py"), model]
    ids, _, *text = run(*reference, "--tokenizer", tokenizer, "--text", "Once upon a time", "--greedy", "200").split("\n")
    prompt = [1, 403, 407, 261, 378]
    ids = [int(i) for i in ids.split()]
    theirs = run(*reference, "--ids", " ".join(map(str, prompt + ids)), "--logits")
    theirs = np.array([[float(x) for x in line.split()] for line in theirs.splitlines()])
    difference = close("stories260K", logits_of(model, prompt + ids), theirs, 2e-4)
    check_greedy("stories260K", model, prompt, ids, (1, 2))
    ours = run(program("generate"), "--model", model, "--prompt", "Once upon a time", "--temperature", "0",
               "--max-tokens", "200", "--threads", "1")
    assert "\n".join(text).strip() in ours, f"{text}\n{ours}"
    return f"largest difference {difference:.1e}"


@test
def numpy_runs_our_llama2c_export():
    """Ids, logits and the greedy story of an exported run, by llama2.c's rules in numpy."""
    model = exported("grouped", "llama2c")
    text = "Once upon a time the boy didn't see 12 très bleue stars"
    reference = [sys.executable, os.path.join(HERE, "llama2c_reference.py"), model]
    tokenizer = os.path.join(os.path.dirname(model), "tokenizer.bin")
    following, prompt, *story = run(*reference, "--tokenizer", tokenizer, "--text", text, "--greedy", "40").split("\n")
    ids = [int(i) for i in prompt.split()]
    ours = run(program("generate"), "--model", model, "--prompt", text, "--ids", "--max-tokens", "0", "--threads", "1")
    assert [int(i) for i in ours.split()] == ids
    theirs = run(*reference, "--ids", prompt, "--logits")
    theirs = np.array([[float(x) for x in line.split()] for line in theirs.splitlines()])
    difference = close("export", logits_of(model, ids), theirs, 1e-4)
    check_greedy("export", model, ids, [int(i) for i in following.split()], (1, 2))
    assert "\n".join(story).startswith(text)
    # the same words as the run itself, but for the ids' numbers: <|endoftext|> is 0 there and 1 here
    before = logits_of(trained("grouped"), [0])[0]
    after = logits_of(model, [1])[0]
    assert (np.sort(before)[-40:] == np.sort(after)[-40:]).all()
    return f"largest difference {difference:.1e}"


def run_c():
    """llama2.c's program: TINYLM_RUN_C names its source, run.c, or the program compiled from it."""
    path = os.environ.get("TINYLM_RUN_C")
    if not path:
        raise Skip("TINYLM_RUN_C names no run.c")
    if not path.endswith(".c"):
        return path
    compiled = os.path.join(SCRATCH, "run")
    if not os.path.exists(compiled):
        run(os.environ.get("CC", "cc"), "-O3", "-o", compiled, path, "-lm")
    return compiled


def same_story_in_run_c(model, tokenizer, steps, prompts):
    """Its greedy text begins ours. Bytes of a character that is no token run.c prints or leaves out,
    depending on its version, so only ASCII is compared. Without a prompt every version begins with
    <s> alone."""
    written = 0
    for prompt in prompts:
        theirs = subprocess.run([run_c(), model, "-z", tokenizer, "-t", "0", "-n", str(steps)]
                                + (["-i", prompt] if prompt else []), capture_output=True, check=True).stdout
        ours = subprocess.run([program("generate"), "--model", model, "--prompt", prompt, "--temperature", "0",
                               "--max-tokens", str(steps), "--threads", "1"], capture_output=True, check=True).stdout
        theirs, ours = (bytes(byte for byte in text if byte < 128) for text in (theirs.removesuffix(b"\n"), ours))
        written += len(theirs) - len(prompt.encode("ascii", "ignore"))
        assert ours.startswith(theirs), f"{model}, {prompt!r}:\n{theirs}\n{ours}"
    assert written > 50 * len(prompts), f"{model}: only {written} bytes to compare"


@test
def run_c_gives_the_same_stories():
    prompts = ("Once upon a time", "", " The fox", "  two  blanks", "h\u00e9llo \u2013 \U0001f600", "A boy\nhad\n",
               "It's 12 o'clock, isn't it?", "\u6f22\u5b57")
    run_c()
    for name in ("plain", "grouped", "tied"):
        model = exported(name, "llama2c")
        same_story_in_run_c(model, os.path.join(os.path.dirname(model), "tokenizer.bin"), 90, prompts)
    model = f"{SHARED}/data/models/stories260K.bin"
    if os.path.exists(model):
        same_story_in_run_c(model, f"{SHARED}/data/models/tok512.bin", 200, prompts)


@test
def numpy_and_safetensors_read_our_arrays():
    safetensors = peer("safetensors")
    from safetensors.numpy import load_file

    path = os.path.join(trained("plain"), "model.safetensors")
    tensors = load_file(path)
    assert tensors["token_embeddings.weight"].shape == (400, 64)
    checkpoint = os.path.join(trained("plain"), "checkpoint.safetensors")
    with safetensors.safe_open(checkpoint, "np") as file:
        assert len(file.metadata()["checksum"]) == 16
        assert (file.get_tensor("ln_final.weight") == tensors["ln_final.weight"]).all()
    ids = [1, 2, 3]
    assert (logits_of(checkpoint, ids) == logits_of(path, ids)).all()


def main():
    failed = 0
    print(f"1..{len(TESTS)}")
    for number, function in enumerate(TESTS, 1):
        name = function.__name__.replace("_", " ")
        try:
            result = function()
            print(f"ok {number} - {name}" + (f" ({result})" if result else ""), flush=True)
        except Skip as reason:
            print(f"ok {number} - {name} # SKIP {reason}", flush=True)
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"not ok {number} - {name}", flush=True)
    if not failed:
        shutil.rmtree(SCRATCH)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
