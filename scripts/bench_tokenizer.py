"""Encodes a part of a text with ./tokenize, tiktoken and Hugging Face tokenizers, with the same vocabulary,
in turns, and prints the rates. The peers get their text split into stories beforehand, outside of the
time; ./tokenize is timed as a whole process that writes a file.

usage: bench_tokenizer.py TOKENIZE TOKENIZER_DIR TEXT
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import tiktoken
import tokenizers

from byte_level import END, PATTERN, byte_alphabet

SAMPLE = 20_000_000
ROUNDS = 5

tokenize, directory, path = sys.argv[1:4]
cores = len(os.sched_getaffinity(0))
with open(path, "rb") as file:
    sample = file.read(SAMPLE)
sample = sample[:sample.rindex(END.encode()) + len(END)]
stories = sample.decode().split(END)


with open(f"{directory}/vocab.json", encoding="utf-8") as file:
    vocabulary = json.load(file)
alphabet = byte_alphabet()
ranks = {bytes(alphabet[c] for c in token): i for token, i in vocabulary.items() if token != END}
tik = tiktoken.Encoding("same", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={END: vocabulary[END]})
hug = tokenizers.Tokenizer.from_file(f"{directory}/tokenizer.json")

folder = tempfile.TemporaryDirectory()
text = f"{folder.name}/text"
with open(text, "wb") as file: # long enough that starting the program does not count
    for _ in range(5):
        file.write(sample)


def ours(threads):
    subprocess.run([tokenize, "encode", "--tokenizer", directory, "--input", text, "--output",
                    f"{folder.name}/ids.npy", "--threads", str(threads)], check=True, stdout=subprocess.DEVNULL)
    return 5 * len(sample)


def tiktoken_one():
    for story in stories:
        tik.encode_ordinary(story)
    return len(sample)


def huggingface_all():
    hug.encode_batch_fast(stories)
    return len(sample)


def processor_seconds():
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF,
                                                                         resource.RUSAGE_CHILDREN)))


sides = {"./tokenize, 1 thread": lambda: ours(1), "tiktoken, 1 thread": tiktoken_one,
         f"./tokenize, {cores} threads": lambda: ours(cores), f"tokenizers, {cores} threads": huggingface_all}
wall, processor = {name: [] for name in sides}, {name: [] for name in sides}
for _ in range(ROUNDS):
    for name, run in sides.items():
        start, start_processor = time.perf_counter(), processor_seconds()
        megabytes = run() / 1e6
        wall[name].append(megabytes / (time.perf_counter() - start))
        processor[name].append(megabytes / (processor_seconds() - start_processor))
rates = {name: (statistics.median(wall[name]), statistics.median(processor[name])) for name in sides}
for name, (by_wall, by_processor) in rates.items():
    print(f"{name:28} {by_wall:8.1f} MB/s   {by_processor:8.1f} MB per second of processor time")
names = list(sides)
for mine, other in ((0, 1), (2, 3)):
    a, b = rates[names[mine]], rates[names[other]]
    print(f"{names[mine]} against {names[other]}: {a[0] / b[0]:.1f} times, by processor time {a[1] / b[1]:.1f} times")
