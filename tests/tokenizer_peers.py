"""Compares the ids of ./tokenize with those of tiktoken and of Hugging Face tokenizers; prints TAP.

usage: tokenizer_peers.py TOKENIZE SHARED
"""

import base64
import glob
import json
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

import tiktoken
import tokenizers

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
from byte_level import END, PATTERN, byte_alphabet

WALL = "<|wall|>"
STRINGS = 100_000

tokenize, shared = sys.argv[1:3]
number = failed = 0


def check(name, ours, theirs):
    global number, failed
    number += 1
    if ours == theirs:
        print(f"ok {number} - {name}", flush=True)
        return
    failed += 1
    place = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b), min(len(ours), len(theirs)))
    print(f"not ok {number} - {name}")
    print(f"# {len(ours)} against {len(theirs)}; first difference at {place}:")
    print(f"# {ours[place - 3:place + 5]} against {theirs[place - 3:place + 5]}", flush=True)


def gpt2():
    alphabet = byte_alphabet()
    with open(f"{shared}/data/gpt2/vocab.json", encoding="utf-8") as file:
        vocabulary = json.load(file)
    special = {END: vocabulary.pop(END), WALL: 60000}
    ranks = {bytes(alphabet[c] for c in token): rank for token, rank in vocabulary.items()}
    return tiktoken.Encoding("gpt2", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens=special), ranks


def run(*arguments):
    return subprocess.run([tokenize, *arguments], check=True, capture_output=True).stdout


def encode(tokenizer, path, *specials):
    options = [part for special in specials for part in ("--special", special)]
    return [int(i) for i in run("encode", "--tokenizer", tokenizer, "--input", path, *options).split()]


def parts_of(ids, wall):
    """Splits a list of ids at an id."""
    parts = [[]]
    for i in ids:
        if i == wall:
            parts.append([])
        else:
            parts[-1].append(i)
    return parts


def random_strings():
    """Letters, digits, spaces, contractions, special tokens and anything else that Unicode has had for
    long: the versions of the three libraries differ."""
    source = random.Random(20240601)
    assigned = [chr(c) for c in range(0x30000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs")
                and unicodedata.category(chr(c)) == unicodedata.ucd_3_2_0.category(chr(c))]
    common = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'", "''", " ", "  ", "   ", "\n", "\r\n", "\t",
              "\u00a0", "\u3000", "\u2003", "\u0085", "the", " the", "Word", "I", "don", "1", "23", "456", "\u0664",
              "\u00bd", "!", "...", "?!", "-", "_", "<", "|", END, END[:-1], "e\u0301", "\u200d", "\U0001f600", "\0",
              "\ufeff", "\u4e2d\u6587", "\u0915\u093f", "ab", "zzzz"]
    for _ in range(STRINGS):
        yield "".join(source.choice(common) if source.random() < 0.7 else source.choice(assigned)
                      for _ in range(source.randrange(16)))


def main():
    folder = tempfile.TemporaryDirectory()
    scratch = folder.name
    peer, ranks = gpt2()
    files = sorted(glob.glob(f"{shared}/data/bpe/*") + glob.glob(f"{shared}/cases/tok/*.txt"))
    files.append(f"{shared}/data/tinystories/valid.txt")
    texts = {}
    for path in files:
        with open(path, encoding="utf-8", newline="") as file:
            texts[path] = file.read()
    for path, text in texts.items():
        check(f"tiktoken gpt2: {os.path.basename(path)}", encode(f"{shared}/data/gpt2", path, END),
              peer.encode(text, allowed_special={END}))

    strings = list(random_strings())
    joined = f"{scratch}/strings"
    with open(joined, "w", encoding="utf-8", newline="") as file:
        file.write(WALL.join(strings))
    ours = parts_of(encode(f"{shared}/data/gpt2", joined, END, WALL), 50257)
    theirs = [peer.encode(text, allowed_special={END}) for text in strings]
    check(f"tiktoken gpt2: {STRINGS} random strings", ours, theirs)

    with open(f"{scratch}/gpt2.tiktoken", "w", encoding="ascii") as file:
        for token, rank in ranks.items():
            file.write(f"{base64.b64encode(token).decode()} {rank}\n")
    ours = parts_of(encode(f"{scratch}/gpt2.tiktoken", joined, END, WALL), 50257)
    check("tiktoken's rank file, read by us", ours, theirs)

    corpus = f"{shared}/data/bpe/corpus.en"
    run("train", "--input", corpus, "--vocab-size", "1500", "--special", END, "--special", WALL,
        "--special", "two words", "--output", f"{scratch}/ours")
    huggingface = tokenizers.Tokenizer.from_file(f"{scratch}/ours/tokenizer.json")
    for path, text in texts.items():
        if len(text) < 2_000_000:
            check(f"our tokenizer.json in tokenizers: {os.path.basename(path)}", encode(f"{scratch}/ours", path),
                  huggingface.encode(text).ids)
    check("our tokenizer.json in tokenizers: random strings",
          parts_of(encode(f"{scratch}/ours", joined), 1),
          [encoding.ids for encoding in huggingface.encode_batch(strings)])

    theirs = tokenizers.Tokenizer(tokenizers.models.BPE())
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    theirs.decoder = tokenizers.decoders.ByteLevel()
    theirs.train([corpus], tokenizers.trainers.BpeTrainer(
        vocab_size=1500, special_tokens=[END, WALL], show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet()))
    theirs.save(f"{scratch}/theirs.json")
    for path, text in texts.items():
        if len(text) < 2_000_000:
            check(f"tokenizer.json of tokenizers, read by us: {os.path.basename(path)}",
                  encode(f"{scratch}/theirs.json", path), theirs.encode(text).ids)
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
