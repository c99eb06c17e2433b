"""Compares ./tokenize with tokenizers and tiktoken on the splits of SmolLM, Llama 3, GPT-4 and GPT-4o; prints TAP.

usage: tokenizer_splits.py TOKENIZE STRINGS
"""

import base64
import os
import random
import subprocess
import sys
import tempfile
import unicodedata

import tiktoken
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers, processors, trainers

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "scripts"))
from byte_level import byte_alphabet
from split_patterns import LLAMA3, O200K

BOS = "<|begin_of_text|>"
WALL = "<|wall|>"
# as in tiktoken_ext/openai_public.py of tiktoken 0.14
CL100K = (r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|"
          r"\s*[\r\n]|\s+(?!\S)|\s")

tokenize, count = sys.argv[1], int(sys.argv[2])
number = failed = 0


def check(name, strings, ours, theirs):
    global number, failed
    number += 1
    wrong = [i for i in range(len(strings)) if ours[i:i + 1] != theirs[i:i + 1]]
    failed += bool(wrong)
    print(f"{'not ' if wrong else ''}ok {number} - {name}: {len(strings)} strings")
    for i in wrong[:3]:
        print(f"# {strings[i]!r}: {ours[i:i + 1]} against {theirs[i]}")
    sys.stdout.flush()


def random_strings(source):
    assigned = [chr(c) for c in range(0x30000) if unicodedata.ucd_3_2_0.category(chr(c)) not in ("Cn", "Cs")
                and unicodedata.category(chr(c)) == unicodedata.ucd_3_2_0.category(chr(c))]
    few = [c for c in assigned if unicodedata.category(c) in ("Lt", "Lm", "Mn", "Mc", "Me", "Nl", "Zs", "Zl", "Lu")]
    common = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'RE", "'lL", "'\u017f", "'", " ", " ", "  ", "   ",
              "\n", "\n", "\r\n", "\t", "\v", "\u00a0", "\u3000", "\u0085", "\u2028", "the", " the", "Word", "ABc", "I",
              "HELLO", "1", "23", "45678", "\u0664", "\u00bd", "\u2167", "!", "...", "/", "//", "-", "<", WALL[:-1],
              "\u0301", "e\u0301", "\u01c5", "\u02b0", "\u200d", "\U0001f600", "\0", "\ufeff", "\u4e2d\u6587",
              "\u0915\u093f", "A\u4e2dB", "zz"]
    for _ in range(count):
        yield "".join(source.choice(common) if source.random() < 0.75 else
                      source.choice(few if source.random() < 0.5 else assigned)
                      for _ in range(source.randrange(16)))


def encode(tokenizer, path, wall, stdin=False):
    """The ids of the texts between the walls."""
    with open(path, "rb") as text:
        ids = [int(i) for i in subprocess.run(
            [tokenize, "encode", "--tokenizer", tokenizer, "--special", WALL, "--input", "-" if stdin else path],
            check=True, stdin=text if stdin else None, capture_output=True).stdout.split()]
    parts = [[]]
    for i in ids:
        if i == wall:
            parts.append([])
        else:
            parts[-1].append(i)
    return parts


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train(strings, pre_tokenizer, ignore_merges):
    """Trains on whole strings, so that merges join whatever stands together: then every cut shows in the ids."""
    peer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    peer.train_from_iterator(strings, trainers.BpeTrainer(
        vocab_size=5000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    peer.pre_tokenizer = pre_tokenizer
    return peer


def main():
    folder = tempfile.TemporaryDirectory()
    joined = f"{folder.name}/strings"
    strings = list(random_strings(random.Random(20261201)))
    with open(joined, "w", encoding="utf-8", newline="") as file:
        file.write(WALL.join(strings))
    digits = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                      pre_tokenizers.ByteLevel(add_prefix_space=False)])
    for name, pre_tokenizer, whole, patterns in (("digits", digits, False, {}),
                                                 ("llama3", split(LLAMA3), True, {"llama3": LLAMA3, "cl100k": CL100K}),
                                                 ("o200k", split(O200K), False, {"o200k": O200K})):
        peer = train(strings, pre_tokenizer, whole)
        ranks = dict(peer.get_vocab())
        wall = len(ranks)
        peer.add_special_tokens([AddedToken(WALL, normalized=False), AddedToken(BOS, normalized=False)])
        if whole:  # as Llama 3's
            peer.post_processor = processors.Sequence([
                processors.ByteLevel(trim_offsets=False),
                processors.TemplateProcessing(single=f"{BOS} $A", pair=f"{BOS} $A {BOS}:1 $B:1",
                                              special_tokens=[(BOS, wall + 1)])])
        path = f"{folder.name}/{name}.json"
        peer.save(path)
        theirs = [encoding.ids for encoding in peer.encode_batch(strings)]
        # ours has all strings in one text
        theirs = theirs[:1] + [ids[whole:] for ids in theirs[1:]]
        check(f"tokenizer.json, {name}", strings, encode(path, joined, wall), theirs)
        check("the same, as a stream", strings, encode(path, joined, wall, stdin=True), theirs)
        for kind, pattern in patterns.items():
            alphabet = byte_alphabet()
            tokens = {bytes(alphabet[c] for c in token): rank for token, rank in ranks.items()}
            path = f"{folder.name}/{kind}_test.tiktoken"
            with open(path, "w", encoding="ascii") as file:
                for token, rank in sorted(tokens.items(), key=lambda item: item[1]):
                    file.write(f"{base64.b64encode(token).decode()} {rank}\n")
            encoding = tiktoken.Encoding(kind, pat_str=pattern, mergeable_ranks=tokens, special_tokens={WALL: wall})
            check(f"tiktoken, {kind}", strings, encode(path, joined, wall),
                  [encoding.encode(text) for text in strings])
    print(f"1..{number}")
    return failed > 0


sys.exit(main())
