"""Compares ./generate and ./evaluate with the float64 model on a small text.

    story.py make DIR          writes DIR/text.txt and DIR/story.json
    (./train DIR/story.json --run DIR/story)
    story.py check DIR BIN     one TAP line per prompt and one for the evaluation; BIN has the programs

Greedy texts: the prompt of a length is the beginning of the text of which the run's tokenizer makes
so many ids. Both sides continue it by 40 ids, past the end of the context of 32. A separator ends
the text on both sides. Evaluation: windows of 32 targets side by side, the last one as short as it
comes out, so that every id but the first is a target once.
"""

import json
import math
import os
import re
import subprocess
import sys

import torch

import model_reference as reference

torch.set_num_threads(1)
SEPARATOR = "<|endoftext|>"


class Tokenizer:
    """The run's tokenizer, for texts of ASCII words, spaces, punctuation and the separator."""

    def __init__(self, folder):
        self.letters = byte_alphabet()
        with open(os.path.join(folder, "vocab.json"), encoding="utf-8") as file:
            self.ids = json.load(file)
        with open(os.path.join(folder, "special_tokens.json"), encoding="utf-8") as file:
            self.special = {self.ids[token] for token in json.load(file)}
        with open(os.path.join(folder, "merges.txt"), encoding="utf-8") as file:
            pairs = [tuple(line.split(" ")) for line in file.read().split("\n")[1:] if line]
        self.ranks = {pair: rank for rank, pair in enumerate(pairs)}
        byte_of = {letter: byte for byte, letter in self.letters.items()}
        ordinary = [(token, id_) for token, id_ in self.ids.items() if id_ not in self.special]
        self.bytes = {self.ids[SEPARATOR]: SEPARATOR.encode()}
        self.bytes |= {id_: bytes(byte_of[letter] for letter in token) for token, id_ in ordinary}

    def encode(self, text):
        first, *rest = (self.encode_part(part) for part in text.split(SEPARATOR))
        return first + [id_ for part in rest for id_ in [self.ids[SEPARATOR], *part]]

    def encode_part(self, text):
        ids = []
        for piece in re.findall(r" ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+", text):
            parts = [self.letters[byte] for byte in piece.encode()]
            while len(parts) > 1:
                ranked = [
                    (self.ranks.get(pair, len(self.ranks)), at)
                    for at, pair in enumerate(zip(parts, parts[1:]))
                ]
                rank, at = min(ranked)
                if rank == len(self.ranks):
                    break
                parts[at : at + 2] = [parts[at] + parts[at + 1]]
            ids += [self.ids[part] for part in parts]
        return ids

    def decode(self, ids):
        return b"".join(self.bytes[id_] for id_ in ids)


def byte_alphabet():
    """GPT-2's letter for each byte: itself where it can be seen, else 256, 257, … in order."""
    visible = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return {**{b: chr(b) for b in visible}, **{b: chr(256 + n) for n, b in enumerate(hidden)}}


CONTEXT, COUNT = 32, 40
WORDS = "cat dog bird tree house river child stone".split()
VERBS = "sees likes finds follows hears".split()
CONFIG = {
    "seed": 11,
    "tokenizer": {"vocab_size": 290, "special_tokens": [SEPARATOR]},
    "model": {
        "context_length": CONTEXT,
        "d_model": 32,
        "num_layers": 2,
        "num_heads": 4,
        "num_kv_heads": 2,
    },
    "training": {
        "batch_size": 8,
        "max_steps": 120,
        "learning_rate": {"max": 1e-2, "warmup_steps": 5},
    },
}


def make(folder):
    text = ""
    for n in range(900):
        text += f"The {WORDS[n % 8]} {VERBS[n * 7 % 5]} the {WORDS[(n * n + 3) % 8]}."
        text += SEPARATOR if n % 9 == 8 else "\n" if n % 4 == 3 else " "
    path = os.path.join(folder, "text.txt")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    with open(os.path.join(folder, "story.json"), "w", encoding="utf-8") as file:
        json.dump({"data": {"train": path, "valid": path}, **CONFIG}, file)


def run_program(program, *arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, check=False).stdout


def evaluate(config, weights, tokenizer, text):
    """What ./evaluate prints of a text: {name: value}."""
    ids = tokenizer.encode(text)
    total = 0.0
    for start in range(0, len(ids) - 1, CONTEXT):
        window = torch.tensor([ids[start : start + CONTEXT + 1]])
        inputs, targets = window[:, :-1], window[:, 1:]
        with torch.no_grad():
            total += reference.loss(config, weights, inputs, targets).item() * inputs.shape[1]
    tokens, size = len(ids) - 1, len(tokenizer.decode(ids[1:]))
    return {
        "loss": total / tokens,
        "perplexity": math.exp(total / tokens),
        "bits per byte": total / math.log(2) / size,
        "tokens": tokens,
        "bytes": size,
    }


def check(folder, programs):
    """Prints the TAP lines; true when all are ok."""
    run, path = os.path.join(folder, "story"), os.path.join(folder, "text.txt")
    config = reference.load_config(os.path.join(run, "config.json"))
    weights = reference.load_weights(os.path.join(run, "model.safetensors"))
    tokenizer = Tokenizer(os.path.join(run, "tokenizer"))
    with open(path, encoding="utf-8") as file:
        text = file.read()
    story = text.split(SEPARATOR)[0]
    results = []
    for length in (1, 5, CONTEXT - 1, CONTEXT, CONTEXT + 1, 2 * CONTEXT):
        end = next(n for n in range(len(story)) if len(tokenizer.encode(story[:n])) == length)
        ids = reference.generate_greedy(config, weights, tokenizer.encode(story[:end]), COUNT)
        stop = next((at for at, id_ in enumerate(ids) if id_ in tokenizer.special), COUNT)
        want = story[:end].encode() + tokenizer.decode(ids[:stop])
        arguments = ["--run", run, "--prompt", story[:end], "--temperature", "0"]
        generate = os.path.join(programs, "generate")
        got = run_program(generate, *arguments, "--max-tokens", str(COUNT))
        name = f"greedy text after a prompt of {length} tokens is the float64 model's ({stop} ids)"
        results.append((name, got.rstrip(b"\n") == want.rstrip(b"\n"), got, want))
    want = evaluate(config, weights, tokenizer, text)
    got = run_program(os.path.join(programs, "evaluate"), "--run", run, "--text", path).decode()
    values = dict(line.rsplit(" ", 1) for line in got.splitlines())
    close = want.keys() == values.keys() and all(
        abs(float(values[name]) - want[name]) <= 1e-5 * want[name] for name in want
    )
    results.append((f"evaluation is the float64 model's ({want['loss']:.6f})", close, got, want))
    for number, (name, good, got, want) in enumerate(results, 1):
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
        if not good:
            print(f"# got  {got!r}\n# want {want!r}")
    return all(good for _, good, _, _ in results)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        sys.exit(not check(sys.argv[2], sys.argv[3]))
