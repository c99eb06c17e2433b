#!/usr/bin/env python3
"""Training speed of PyTorch on the shapes of the benchmark program, as a student would write it.

    bench_peers.py [SHAPE] [--batch N] [--seconds S] [--steps N]     SHAPE: tiny (default) or cs336

Eager, float32, library operations where the installed version has them (embedding, softmax or
scaled_dot_product_attention, silu, cross_entropy, AdamW); one step is forward, loss, backward,
clipping and AdamW on random ids. Everything else (threads, BLAS library and kernels, malloc) is as
the environment says, so that one process measures one setting; bench_peers.sh tries settings and
compares. Prints lines "name value"; the last ones are
    kernel ...   threads ...   peak_memory_mb ...   tokens_per_second ...
with the median over the steps after the first.
"""

import argparse
import ctypes
import os
import resource
import statistics
import time

import torch
from torch import nn
from torch.nn import functional

SHAPES = {
    "tiny": {"vocab": 4096, "context": 256, "width": 128, "layers": 4, "heads": 4, "inner": 384},
    "cs336": {
        "vocab": 10000,
        "context": 256,
        "width": 512,
        "layers": 4,
        "heads": 16,
        "inner": 1344,
    },
}


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        if hasattr(functional, "rms_norm"):
            return functional.rms_norm(x, x.shape[-1:], self.weight, 1e-5)
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class Attention(nn.Module):
    def __init__(self, width, heads, cos, sin):
        super().__init__()
        self.heads, self.cos, self.sin = heads, cos, sin
        self.q_proj, self.k_proj, self.v_proj, self.output_proj = (
            nn.Linear(width, width, bias=False) for _ in range(4)
        )
        self.future = torch.ones(cos.shape[0], cos.shape[0], dtype=torch.bool).triu(1)

    def rotate(self, x):
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * self.cos - b * self.sin, a * self.sin + b * self.cos], -1).flatten(
            -2
        )

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            projection(x).view(batch, length, self.heads, -1).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        q, k = self.rotate(q), self.rotate(k)
        if hasattr(functional, "scaled_dot_product_attention"):
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
            mixed = functional.softmax(scores.masked_fill(self.future, float("-inf")), -1) @ v
        return self.output_proj(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, inner, cos, sin):
        super().__init__()
        self.ln1, self.ln2 = RMSNorm(width), RMSNorm(width)
        self.attention = Attention(width, heads, cos, sin)
        self.w1, self.w3 = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False)
        self.w2 = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        y = self.ln2(x)
        return x + self.w2(functional.silu(self.w1(y)) * self.w3(y))


class Model(nn.Module):
    def __init__(self, vocab, context, width, layers, heads, inner):
        super().__init__()
        size = width // heads
        angle = torch.arange(context)[:, None] * 10000.0 ** (-torch.arange(0, size, 2) / size)
        self.embeddings = nn.Embedding(vocab, width)
        self.blocks = nn.Sequential(
            *(Block(width, heads, inner, angle.cos(), angle.sin()) for _ in range(layers))
        )
        self.ln_final, self.head = RMSNorm(width), nn.Linear(width, vocab, bias=False)

    def forward(self, ids):
        return self.head(self.ln_final(self.blocks(self.embeddings(ids))))


def blas_kernel():
    """Name of the kernels of the OpenBLAS that is loaded, with the file it comes from."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {
            line.split()[-1]
            for line in maps
            if "openblas" in line.split()[-1] or "libblas" in line.split()[-1]
        }
    for path in sorted(files):
        try:
            name = ctypes.CDLL(path).openblas_get_corename
        except (AttributeError, OSError):
            continue
        name.restype = ctypes.c_char_p
        return f"{name().decode()} ({path})"
    return "unknown (not OpenBLAS)"


def step_times(shape, batch, seconds, min_steps):
    """Seconds of each training step, without the first."""
    torch.manual_seed(1)
    model = Model(**shape)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.1)
    times, begin = [], time.perf_counter()
    while len(times) <= min_steps or time.perf_counter() - begin < seconds:
        ids = torch.randint(shape["vocab"], (batch, shape["context"] + 1))
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        logits = model(ids[:, :-1])
        functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        del logits
        times.append(time.perf_counter() - start)
    return times[1:]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("shape", nargs="?", choices=SHAPES, default="tiny")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument(
        "--steps", type=int, default=3, help="measure at least this many, whatever the time"
    )
    options = parser.parse_args()
    # PyTorch takes one thread where it cannot tell the cores; a student would set what the machine
    # has
    if "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(len(os.sched_getaffinity(0)))
    times = step_times(SHAPES[options.shape], options.batch, options.seconds, options.steps)
    print("pytorch", torch.__version__)
    print("steps", len(times))
    print("kernel", blas_kernel())
    print("threads", torch.get_num_threads())
    print("peak_memory_mb", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
    tokens = options.batch * SHAPES[options.shape]["context"]
    print(f"tokens_per_second {tokens / statistics.median(times):.0f}")


if __name__ == "__main__":
    main()
