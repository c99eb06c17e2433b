#!/usr/bin/env python3
"""A llama2.c model (legacy .bin) in numpy, float64: an independent check of ours.

    llama2c_reference.py MODEL.bin --ids "1 403 407" --logits      one line of logits per position
    llama2c_reference.py MODEL.bin --ids "1" --greedy 200          the ids that follow, greedily
    llama2c_reference.py MODEL.bin --tokenizer TOK.bin --text "Once upon a time" --greedy 200

Written from the description of the format and the formulas of the architecture (Touvron et al. 2023),
one position at a time, keys and values kept. With --text it also prints the text.
"""

import argparse
import struct
import sys

import numpy as np


class Model:
    def __init__(self, path):
        data = open(path, "rb").read()
        dim, hidden, layers, heads, kv_heads, vocab, length = struct.unpack("<7i", data[:28])
        self.dim, self.layers, self.heads, self.kv_heads = dim, layers, heads, kv_heads
        self.vocab, self.length, self.head = abs(vocab), length, dim // heads
        numbers = np.frombuffer(data, dtype="<f4", offset=28).astype(np.float64)
        at = 0

        def take(*shape):
            nonlocal at
            size = int(np.prod(shape))
            at += size
            return numbers[at - size : at].reshape(shape)

        kv = kv_heads * self.head
        self.embedding = take(self.vocab, dim)
        self.rms_attention = take(layers, dim)
        self.wq, self.wk, self.wv = take(layers, dim, dim), take(layers, kv, dim), take(layers, kv, dim)
        self.wo = take(layers, dim, dim)
        self.rms_ffn = take(layers, dim)
        self.w1, self.w2, self.w3 = take(layers, hidden, dim), take(layers, dim, hidden), take(layers, hidden, dim)
        self.rms_final = take(dim)
        take(2, length, self.head // 2)  # cosines and sines, computed anew below
        self.classifier = self.embedding if vocab > 0 else take(self.vocab, dim)
        assert at == len(numbers), "the file's size does not fit its header"
        self.keys = [[] for _ in range(layers)]
        self.values = [[] for _ in range(layers)]

    @staticmethod
    def norm(x, weight):
        return weight * x / np.sqrt(np.mean(x * x) + 1e-5)

    def rotate(self, x, position):
        """Pairs (2i, 2i+1) of each head by position · 10000^(−2i/d)."""
        pairs = x.reshape(-1, self.head // 2, 2)
        angle = position * 10000.0 ** (-np.arange(0, self.head, 2) / self.head)
        cos, sin = np.cos(angle), np.sin(angle)
        first, second = pairs[..., 0], pairs[..., 1]
        return np.stack([first * cos - second * sin, first * sin + second * cos], -1).reshape(-1, self.head)

    def step(self, token, position):
        x = self.embedding[token].copy()
        for l in range(self.layers):
            h = self.norm(x, self.rms_attention[l])
            q = self.rotate(self.wq[l] @ h, position)
            self.keys[l].append(self.rotate(self.wk[l] @ h, position))
            self.values[l].append((self.wv[l] @ h).reshape(-1, self.head))
            keys, values = np.array(self.keys[l]), np.array(self.values[l])
            out = np.empty((self.heads, self.head))
            for head in range(self.heads):
                group = head // (self.heads // self.kv_heads)
                scores = keys[:, group] @ q[head] / np.sqrt(self.head)
                weights = np.exp(scores - scores.max())
                out[head] = weights @ values[:, group] / weights.sum()
            x = x + self.wo[l] @ out.reshape(-1)
            h = self.norm(x, self.rms_ffn[l])
            gate = self.w1[l] @ h
            x = x + self.w2[l] @ (gate / (1 + np.exp(-gate)) * (self.w3[l] @ h))
        return self.classifier @ self.norm(x, self.rms_final)


class Tokenizer:
    def __init__(self, path, count):
        data, at = open(path, "rb").read(), 4
        self.pieces, self.scores = [], []
        for _ in range(count):
            score, size = struct.unpack("<fi", data[at : at + 8])
            self.pieces.append(data[at + 8 : at + 8 + size])
            self.scores.append(score)
            at += 8 + size
        self.ids = {piece: i for i, piece in reversed(list(enumerate(self.pieces)))}

    def encode(self, text):
        """Characters, or their bytes, then the best merge again and again, rescanning everything."""
        ids = []
        for character in " " + text if text else "":
            raw = character.encode()
            ids += [self.ids[raw]] if raw in self.ids else [3 + byte for byte in raw]
        while True:
            best = None
            for i in range(len(ids) - 1):
                joined = self.ids.get(self.pieces[ids[i]] + self.pieces[ids[i + 1]])
                if joined is not None and (best is None or self.scores[joined] > self.scores[best[1]]):
                    best = (i, joined)
            if best is None:
                return [1] + ids
            ids[best[0] : best[0] + 2] = [best[1]]

    def decode(self, ids):
        out, previous = b"", 1
        for i in ids:
            piece = self.pieces[i]
            if 3 <= i and len(piece) == 6 and piece.startswith(b"<0x"):
                piece = bytes([int(piece[3:5], 16)])
            elif previous == 1 and piece.startswith(b" "):
                piece = piece[1:]
            out, previous = out + (piece if i >= 3 else b""), i
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--ids")
    parser.add_argument("--text")
    parser.add_argument("--tokenizer")
    parser.add_argument("--logits", action="store_true")
    parser.add_argument("--greedy", type=int, default=0)
    arguments = parser.parse_args()
    model = Model(arguments.model)
    tokenizer = Tokenizer(arguments.tokenizer, model.vocab) if arguments.tokenizer else None
    ids = tokenizer.encode(arguments.text) if arguments.text else [int(i) for i in arguments.ids.split()]
    prompt, position, out = list(ids), 0, []
    while position < len(ids):
        logits = model.step(ids[position], position)
        position += 1
        if arguments.logits:
            print(" ".join("%.9g" % value for value in logits))
        if position == len(ids) and len(out) < arguments.greedy:
            out.append(int(np.argmax(logits)))
            ids.append(out[-1])
    if arguments.greedy:
        print(" ".join(map(str, out)))
    if arguments.text:
        print(" ".join(map(str, prompt)))
        sys.stdout.buffer.write(tokenizer.decode(prompt[1:] + out) + b"\n")


if __name__ == "__main__":
    main()
