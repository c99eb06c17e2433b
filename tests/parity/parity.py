"""Trains tiny models in float64 by the definitions and compares them with what ./train logged.

    parity.py make DIR      writes ids and one configuration DIR/NAME.json per variant; DIR/tokenizer
                            must hold a tokenizer of 257 tokens, the separator of documents first
    (./train DIR/NAME.json --run DIR/NAME.initial --set training.max_steps=0, and once more as it
    is with --run DIR/NAME)
    parity.py check DIR     one TAP line per variant
    parity.py one CONFIG INITIAL.safetensors LOG.csv   the same for any run on a file of ids

Most variants train on exactly context_length+1 ids: only one window exists, so every row of every
batch is that window and nothing depends on how windows are drawn. The others draw their windows
with the documented generator, Philox4x32-10. What must agree, for each of the logged steps:
    |train_loss - ours| <= 3e-5 * max(ours, 0.1),   |grad_norm - ours| <= 3e-4 * ours,
    |learning_rate - ours| <= 1e-6 * max of the schedule,
and |valid_loss - ours| <= 3e-5 * max(ours, 0.1) of the last step.
Float arithmetic in another order stays well below that (7e-6 and 6e-5 over many seeds); the tanh
form of GELU, a decay applied before the step or eps in another place do not.
"""

import copy
import csv
import json
import math
import os
import sys

import numpy as np
import torch

import model_reference as reference

torch.set_num_threads(1)
LOSS_TOLERANCE, NORM_TOLERANCE, RATE_TOLERANCE = 3e-5, 3e-4, 1e-6


# ---- the training, from the definitions ----------------------------------------------------------


def learning_rate(rate, t):
    """Rate of iteration t, from 0: linear warm-up, half a cosine from max to min, then min."""
    if t < rate["warmup_steps"]:
        return rate["max"] * t / rate["warmup_steps"]
    if rate["schedule"] == "constant":
        return rate["max"]
    length = rate["cosine_steps"] - rate["warmup_steps"]
    done = t - rate["warmup_steps"]
    if done > length:
        return rate["min"]
    fraction = done / length if length > 0 else 0.0
    return rate["min"] + 0.5 * (1.0 + math.cos(math.pi * fraction)) * (rate["max"] - rate["min"])


def clip_scale(norm, limit):
    """What gradients of this global norm are multiplied by; limit 0 is off."""
    return limit / (norm + 1e-6) if limit > 0 and norm > limit else 1.0


class AdamW:
    """Decay after the step, by the scheduled rate; eps beside the uncorrected root of v."""

    def __init__(self, options):
        self.beta1, self.beta2 = options["beta1"], options["beta2"]
        self.eps, self.decay = options["eps"], options["weight_decay"]
        self.t, self.m, self.v = 0, {}, {}

    def step(self, weights, gradients, rate):
        self.t += 1
        corrected = rate * math.sqrt(1 - self.beta2**self.t) / (1 - self.beta1**self.t)
        for name, gradient in gradients.items():
            zero = torch.zeros_like(gradient)
            m = self.m[name] = self.beta1 * self.m.get(name, zero) + (1 - self.beta1) * gradient
            v = self.v[name] = self.beta2 * self.v.get(name, zero) + (1 - self.beta2) * gradient**2
            theta = weights[name] - corrected * m / (v.sqrt() + self.eps)
            weights[name] = theta - rate * self.decay * theta


class SGD:
    def __init__(self, options):
        self.momentum, self.m = options["momentum"], {}

    def step(self, weights, gradients, rate):
        for name, gradient in gradients.items():
            m = self.m[name] = self.momentum * self.m.get(name, 0.0) + gradient
            weights[name] = weights[name] - rate * m


def philox(counter, key):
    """Philox4x32-10 (Salmon et al. 2011): counter of four words, key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = p1 >> 32 ^ c1 ^ k0, p1 & 0xFFFFFFFF, p0 >> 32 ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = k0 + 0x9E3779B9 & 0xFFFFFFFF, k1 + 0xBB67AE85 & 0xFFFFFFFF
    return c0, c1, c2, c3


def window_start(seed, index, count):
    """First id, 0 … count-1, of window number `index`, rows counted through all steps."""
    windows = 2  # the stream of the generator
    words = philox((index & 0xFFFFFFFF, index >> 32, 0, windows), (seed & 0xFFFFFFFF, seed >> 32))
    return (words[1] << 32 | words[0]) * count >> 64


def train(config, weights, ids):
    """Yields (rate, loss, gradient norm before clipping) of each step; changes weights in place."""
    training = config["training"]
    optimizer = {"adamw": AdamW, "sgd": SGD}[training["optimizer"]["type"]](training["optimizer"])
    ids = torch.from_numpy(ids.astype(np.int64))
    length, batch = config["model"]["context_length"], training["batch_size"]
    groups = training["gradient_accumulation"]
    for t in range(training["max_steps"]):
        leaves = {name: weight.detach().requires_grad_() for name, weight in weights.items()}
        mean_loss = 0.0
        for group in range(groups):
            first = (t * groups + group) * batch
            starts = [
                window_start(config.get("seed", 1337), index, len(ids) - length)
                for index in range(first, first + batch)
            ]
            rows = torch.stack([ids[start : start + length + 1] for start in starts])
            part = reference.loss(config, leaves, rows[:, :-1], rows[:, 1:]) / groups
            part.backward()
            mean_loss += part.item()
        norm = math.sqrt(sum((leaf.grad**2).sum().item() for leaf in leaves.values()))
        rate = learning_rate(training["learning_rate"], t)
        scale = clip_scale(norm, training["grad_clip"])
        optimizer.step(weights, {name: leaf.grad * scale for name, leaf in leaves.items()}, rate)
        yield rate, mean_loss, norm


def validation_loss(config, weights, ids):
    """Mean over every target once: windows side by side, the last one as short as it comes out.

    (So few windows that none is left out: eval_batches is 20.)
    """
    ids = torch.from_numpy(ids.astype(np.int64))
    length = config["model"]["context_length"]
    assert len(ids) - 1 <= 20 * config["training"]["batch_size"] * length
    total = 0.0
    with torch.no_grad():
        for start in range(0, len(ids) - 1, length):
            row = ids[None, start : start + length + 1]
            mean = reference.loss(config, weights, row[:, :-1], row[:, 1:])
            total += mean.item() * (row.shape[1] - 1)
    return total / (len(ids) - 1)


# ---- the comparison ------------------------------------------------------------------------------


def compare(config, initial, log):
    """(summary of the largest deviations, list of what is wrong)."""
    config = reference.with_defaults(config)
    weights = reference.load_weights(initial)
    have = {name: tuple(weight.shape) for name, weight in weights.items()}
    want = reference.expected_shapes(config)
    if have != want:
        return "", [f"tensors differ: {sorted(set(have.items()) ^ set(want.items()))}"]
    with open(log, newline="", encoding="utf-8") as file:
        rows = {int(row["step"]): row for row in csv.DictReader(file)}
    worst, wrong = {"train_loss": 0.0, "grad_norm": 0.0, "learning_rate": 0.0}, []
    steps = 0
    ids = np.load(config["data"]["train"])
    for steps, (rate, loss, norm) in enumerate(train(config, weights, ids), 1):
        if steps not in rows:
            wrong.append(f"step {steps} is not in the log")
            continue
        for key, ours, allowed in (
            ("train_loss", loss, LOSS_TOLERANCE * max(loss, 0.1)),
            ("grad_norm", norm, NORM_TOLERANCE * norm),
            ("learning_rate", rate, RATE_TOLERANCE * config["training"]["learning_rate"]["max"]),
        ):
            theirs = float(rows[steps][key])
            deviation = abs(theirs - ours)
            worst[key] = max(worst[key], deviation / allowed)
            if not deviation <= allowed:
                wrong.append(f"step {steps}: {key} {theirs:.9g}, reference {ours:.9g}")
        tokens = (
            steps * config["training"]["batch_size"] * config["training"]["gradient_accumulation"]
        )
        tokens *= config["model"]["context_length"]
        if int(rows[steps]["tokens"]) != tokens:
            wrong.append(f"step {steps}: tokens {rows[steps]['tokens']}, reference {tokens}")
    if config["data"].get("valid") == config["data"]["train"] and steps in rows:
        ours, theirs = validation_loss(config, weights, ids), float(rows[steps]["valid_loss"])
        if not abs(theirs - ours) <= LOSS_TOLERANCE * max(ours, 0.1):
            wrong.append(f"last step: valid_loss {theirs:.9g}, reference {ours:.9g}")
    if len(rows) != steps:
        wrong.append(f"{len(rows)} rows in the log for {steps} steps")
    summary = f"last loss {loss:.3f}, largest deviation "
    summary += f"{worst['train_loss'] * LOSS_TOLERANCE:.1e} of the loss, "
    return summary + f"{worst['grad_norm'] * NORM_TOLERANCE:.1e} of the norm", wrong


# ---- the variants --------------------------------------------------------------------------------

CONTEXT = 24
BASE = {
    "seed": 7,
    "model": {
        "vocab_size": 61,
        "context_length": CONTEXT,
        "d_model": 32,
        "num_layers": 2,
        "num_heads": 4,
        "d_ff": 64,
    },
    "training": {
        "batch_size": 2,
        "max_steps": 20,
        "log_every": 1,
        "learning_rate": {"max": 1e-2, "warmup_steps": 5},
    },
}
ADAMW = {"type": "adamw", "beta1": 0.8, "beta2": 0.99, "eps": 1e-3, "weight_decay": 0.7}
CONSTANT = {"schedule": "constant", "max": 0.1, "warmup_steps": 5}
# name: (changes to the model, changes to the training)
VARIANTS = {
    "base": ({}, {}),
    "post-norm": ({"norm": "post"}, {}),
    # without norms a larger rate makes 20 steps of float chaotic
    "no norm": ({"norm": "none"}, {"learning_rate": {"max": 2e-3, "warmup_steps": 5}}),
    "SiLU": ({"ffn": "silu"}, {}),
    "tied head": ({"tie_embeddings": True}, {}),
    "half layout": ({"position": {"type": "rope", "layout": "half", "theta": 500.0}}, {}),
    "2 key-value heads": ({"num_kv_heads": 2}, {}),
    "gradient accumulation": ({}, {"gradient_accumulation": 3}),
    "SGD": ({}, {"optimizer": {"type": "sgd"}, "learning_rate": CONSTANT}),
    "no position, ReLU, momentum": (
        {"position": {"type": "none"}, "ffn": "relu"},
        {
            "optimizer": {"type": "sgd", "momentum": 0.8},
            "learning_rate": CONSTANT,
            "grad_clip": 0.5,
        },
    ),
    # few, large inner values: the tanh form of GELU would show
    "GELU": ({"ffn": "gelu", "d_ff": 8, "num_layers": 4}, {}),
    "AdamW and norm options, one key-value head, tied": (
        {"num_kv_heads": 1, "tie_embeddings": True, "norm_eps": 1e-2},
        {"optimizer": ADAMW, "grad_clip": 0},
    ),
    "post-norm, half layout, accumulation, short cosine": (
        {"norm": "post", "position": {"type": "rope", "layout": "half"}, "num_kv_heads": 2},
        {
            "gradient_accumulation": 2,
            "learning_rate": {"max": 2e-2, "min": 3e-3, "warmup_steps": 5, "cosine_steps": 12},
        },
    ),
    "many windows": ({}, {"batch_size": 5}),
    "many windows, accumulation, 2 key-value heads": (
        {"num_kv_heads": 2},
        {"batch_size": 3, "gradient_accumulation": 4},
    ),
    "one layer, default d_ff, SiLU, no norm, SGD": (
        {"num_layers": 1, "d_ff": None, "ffn": "silu", "norm": "none"},
        {"batch_size": 5, "optimizer": {"type": "sgd", "momentum": 0.5}},
    ),
}
POSITIONS = [
    {"type": "sinusoidal"},
    {"type": "sinusoidal", "layout": "concat", "base": 300.0, "inject": "gate"},
    {"type": "sinusoidal_learned"},
    {"type": "sinusoidal_learned", "inject": "concat"},
    {"type": "learned"},
    {"type": "learned", "inject": "gate"},
    {"type": "index", "inject": "concat"},
    {"type": "rope", "fraction": 0.5, "layout": "half"},
    {"type": "rope", "rotate_values": True},
    {"type": "rope", "scaling": {"type": "linear", "factor": 3}},
    {"type": "rope", "scaling": {"type": "ntk", "factor": 4}},
    {"type": "rope", "scaling": {"type": "dynamic_ntk", "factor": 2, "original_context": 10}},
    {
        "type": "rope",
        "scaling": {"type": "yarn", "original_context": 8, "beta_fast": 1, "beta_slow": 0.1},
    },
    {"type": "rope", "scaling": {"type": "llama3", "original_context": 12}},
    {"type": "alibi"},
    {"type": "t5"},
    {"type": "t5", "buckets": 8, "max_distance": 15},
    {"type": "window"},
    {"type": "shaw", "max_distance": 5},
    {"type": "shaw", "values": False},
    {"type": "transformer_xl"},
]
for scheme in POSITIONS:
    words = json.dumps(scheme).translate({ord(mark): None for mark in '"{}'})
    VARIANTS[words.replace("type: ", "", 1)] = (
        {"position": scheme, "num_kv_heads": 2},
        {"max_steps": 12},
    )
# Attention inside of documents: with positions turned, added to the scores, looked up inside of
# attention (in blocks of 64 rows, here more than one) and added to the embeddings, which go on from
# document to document.
MASKED = {"document_mask": True, "vocab_size": 257}
VARIANTS |= {
    "documents": (MASKED, {"batch_size": 5}),
    "documents, half layout, one key-value head, no norm, accumulation, recomputed": (
        {
            **MASKED,
            "num_kv_heads": 1,
            "norm": "none",
            "position": {"type": "rope", "layout": "half"},
        },
        {
            "batch_size": 3,
            "gradient_accumulation": 2,
            "recompute": True,
            "learning_rate": {"max": 2e-3, "warmup_steps": 5},
        },
    ),
    "documents, alibi, tied": (
        {**MASKED, "position": {"type": "alibi"}, "tie_embeddings": True},
        {"batch_size": 5},
    ),
    "documents, t5": ({**MASKED, "position": {"type": "t5", "buckets": 8}}, {"batch_size": 5}),
    "documents, shaw": (
        {
            **MASKED,
            "position": {"type": "shaw", "max_distance": 5},
            "num_kv_heads": 2,
            "context_length": 80,
        },
        {"max_steps": 12},
    ),
    "documents, transformer_xl": (
        {**MASKED, "position": {"type": "transformer_xl"}, "context_length": 80},
        {"max_steps": 12, "recompute": True},
    ),
    "documents, learned, post-norm": (
        {**MASKED, "position": {"type": "learned"}, "norm": "post"},
        {"batch_size": 5},
    ),
}


def variant(name, folder):
    config = copy.deepcopy(BASE)
    model, training = VARIANTS[name]
    config["name"] = file_name(name)
    files = {"many windows": "many.npy", "documents": "documents.npy"}
    ids_path = os.path.join(folder, files.get(name.split(",")[0], "one.npy"))
    config["data"] = {"train": ids_path, "valid": ids_path}
    if model.get("document_mask"):
        tokenizer = os.path.join(folder, "tokenizer")
        config["tokenizer"] = {"load": tokenizer, "special_tokens": ["<|endoftext|>"]}
    config["model"].update(model)
    config["training"].update(training)
    if config["model"]["d_ff"] is None:
        del config["model"]["d_ff"]
    return config


def file_name(name):
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def make(folder):
    """Some ids repeat and some never come, as in text; the last one only as a target."""
    for name, count in ("one", CONTEXT + 1), ("many", 300):
        ids = np.random.default_rng(5).integers(0, 40, count)
        ids[-1] = 60
        np.save(os.path.join(folder, name + ".npy"), ids.astype("<u2"))
    # documents of 0 to 60 ids: some are empty, some longer than a window
    lengths = np.random.default_rng(6).integers(0, 9, 40) ** 2 * 15 // 16
    parts = [np.append(ids[:length].clip(min=1), reference.SEPARATOR) for length in lengths]
    np.save(os.path.join(folder, "documents.npy"), np.concatenate(parts).astype("<u2"))
    for name in VARIANTS:
        path = os.path.join(folder, file_name(name) + ".json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(variant(name, folder), file, indent=1)


def check_initial(folder):
    """What is wrong with the distribution of the initial weights: (summary, list)."""
    scaled, wrong = {"linear": [], "embedding": [], "tied embedding": []}, []
    for name, (model, _) in VARIANTS.items():
        tied = model.get("tie_embeddings", False)
        path = os.path.join(folder, file_name(name) + ".initial/model.safetensors")
        if not os.path.exists(path):
            return "", [f"{path} is missing"]
        for tensor, weight in reference.load_weights(path).items():
            weight = weight.numpy()
            if "position" in tensor or "relative" in tensor or "content" in tensor:
                continue
            if weight.ndim == 1:
                if (weight != 1).any():
                    wrong.append(f"{name}: {tensor} is not all ones")
            elif tensor == "token_embeddings.weight":
                sigma = weight.shape[1] ** -0.5 if tied else 1.0
                scaled["tied embedding" if tied else "embedding"].append(weight.ravel() / sigma)
            else:
                scaled["linear"].append(weight.ravel() / math.sqrt(2.0 / sum(weight.shape)))
    # a standard normal cut at 3 has this deviation, and this part of it is beyond 1
    deviation, beyond = 0.98658, 0.31546
    summary = []
    for kind, parts in scaled.items():
        # the variants share a seed, so equal tensors come again
        values = np.unique(np.concatenate(parts))
        error = 4 / math.sqrt(len(values))
        summary.append(f"{kind} {values.std():.3f} of {len(values)}")
        if (
            abs(values.mean()) > error
            or abs(values.std() - deviation) > error
            or np.abs(values).max() > 3.000001
        ):
            wrong.append(
                f"{kind}: mean {values.mean()}, deviation {values.std()}, to {np.abs(values).max()}"
            )
        if abs((np.abs(values) > 1).mean() - beyond) > error:
            wrong.append(
                f"{kind}: {(np.abs(values) > 1).mean()} of all are beyond 1 sigma, not {beyond}"
            )
    return ", ".join(summary), wrong


def check(folder):
    """Prints the TAP lines; true when all are ok."""
    good = True
    for number, name in enumerate(VARIANTS, 1):
        base = os.path.join(folder, file_name(name))
        with open(base + ".json", encoding="utf-8") as file:
            config = json.load(file)
        try:
            summary, wrong = compare(config, base + ".initial/model.safetensors", base + "/log.csv")
        except OSError as error:
            summary, wrong = "", [str(error)]
        good = report(number, f"parity with float64: {name}", summary, wrong) and good
    summary, wrong = check_initial(folder)
    return report(len(VARIANTS) + 1, "initial weights, in units of sigma", summary, wrong) and good


def report(number, name, summary, wrong):
    print(f"{'not ok' if wrong else 'ok'} {number} - {name}" + (f" ({summary})" if summary else ""))
    for line in wrong[:5]:
        print(f"# {line}")
    return not wrong


if __name__ == "__main__":
    command, arguments = sys.argv[1], sys.argv[2:]
    if command == "make":
        make(*arguments)
        sys.exit(0)
    if command == "check":
        sys.exit(not check(*arguments))
    if command == "one":
        with open(arguments[0], encoding="utf-8") as opened:
            given = json.load(opened)
        sys.exit(not report(1, arguments[0], *compare(given, *arguments[1:])))
    sys.exit(__doc__)
