"""The model once more, in float64 PyTorch, written from the definitions and not from the C sources.

The tests compare the program with this file, so nothing here is tuned: every operation is the
formula. Letters in shapes: B rows, T positions, D d_model, H query heads, K key/value heads, C =
D/H, F d_ff, V vocabulary.

    config = load_config("runs/tiny/config.json")
    weights = load_weights("runs/tiny/model.safetensors")
    logits = forward(config, weights, ids)                  # ids (B, T) -> (B, T, V)
    ids = generate_greedy(config, weights, prompt_ids, 40)  # the 40 new ids

As a program:  model_reference.py RUN_DIR COUNT ID...   prints COUNT greedy ids after the prompt.
"""

import json
import math
import sys

import numpy as np
import torch

import position_reference

# ---- configuration -------------------------------------------------------------------------------


def with_defaults(config):
    """The configuration, a dict as in the file, with all defaults filled in."""
    model = dict(config["model"])
    if "vocab_size" not in model:
        model["vocab_size"] = config["tokenizer"]["vocab_size"]
    model.setdefault("num_kv_heads", model["num_heads"])
    model.setdefault("norm", "pre")
    model.setdefault("norm_eps", 1e-5)
    model.setdefault("ffn", "swiglu")
    model.setdefault("tie_embeddings", False)
    model.setdefault("document_mask", False)
    if "d_ff" not in model:
        width = model["d_model"] * (8 / 3 if model["ffn"] == "swiglu" else 4)
        model["d_ff"] = 64 * math.ceil(width / 64)
    model["position"] = position_reference.with_defaults(model)

    training = dict(config["training"])
    training.setdefault("gradient_accumulation", 1)
    training.setdefault("grad_clip", 1.0)
    optimizer = dict(training.get("optimizer", {"type": "adamw"}))
    if optimizer["type"] == "adamw":
        optimizer = {"beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "weight_decay": 0.1, **optimizer}
    else:
        optimizer = {"momentum": 0.0, **optimizer}
    training["optimizer"] = optimizer
    rate = dict(training.get("learning_rate", {}))
    rate = {
        "schedule": "cosine",
        "max": 1e-3,
        "warmup_steps": 0,
        "cosine_steps": training["max_steps"],
        **rate,
    }
    rate.setdefault("min", rate["max"] / 10)
    training["learning_rate"] = rate
    return {**config, "model": model, "training": training}


def load_config(path):
    with open(path, encoding="utf-8") as file:
        return with_defaults(json.load(file))


# ---- weights -------------------------------------------------------------------------------------


def load_safetensors(path):
    """{name: array} of a safetensors file: u64 length, JSON header, data. BF16 becomes float32."""
    with open(path, "rb") as file:
        blob = file.read()
    length = int.from_bytes(blob[:8], "little")
    header = json.loads(blob[8 : 8 + length])
    data = blob[8 + length :]
    types = {
        "F64": "<f8",
        "F32": "<f4",
        "F16": "<f2",
        "BF16": "<u2",
        "I64": "<i8",
        "I32": "<i4",
        "U8": "u1",
    }
    arrays = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        array = np.frombuffer(data[begin:end], types[entry["dtype"]])
        if entry["dtype"] == "BF16":
            array = (array.astype(np.uint32) << 16).view(np.float32)
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def load_weights(path):
    """{name: float64 tensor} of a model file."""
    return {
        name: torch.from_numpy(array.astype(np.float64))
        for name, array in load_safetensors(path).items()
    }


def expected_shapes(config):
    """{name: shape} of every parameter that a model of this configuration has, and no other."""
    m = config["model"]
    d, f, v = m["d_model"], m["d_ff"], m["vocab_size"]
    kv = m["num_kv_heads"] * (d // m["num_heads"])
    shapes = {"token_embeddings.weight": (v, d), **position_reference.shapes(m)}
    for n in range(m["num_layers"]):
        layer = f"layers.{n}."
        shapes[layer + "attn.q_proj.weight"] = (d, d)
        shapes[layer + "attn.k_proj.weight"] = (kv, d)
        shapes[layer + "attn.v_proj.weight"] = (kv, d)
        shapes[layer + "attn.output_proj.weight"] = (d, d)
        shapes[layer + "ffn.w1.weight"] = (f, d)
        shapes[layer + "ffn.w2.weight"] = (d, f)
        if m["ffn"] == "swiglu":
            shapes[layer + "ffn.w3.weight"] = (f, d)
        if m["norm"] != "none":
            shapes[layer + "ln1.weight"] = (d,)
            shapes[layer + "ln2.weight"] = (d,)
    if m["norm"] != "none":
        shapes["ln_final.weight"] = (d,)
    if not m["tie_embeddings"]:
        shapes["lm_head.weight"] = (v, d)
    return shapes


# ---- forward -------------------------------------------------------------------------------------


def rmsnorm(x, gain, eps):
    """x / sqrt(mean(x^2) + eps) * gain, over the last axis."""
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * gain


SEPARATOR = 0  # the first special token, which has the first id


def hidden_keys(m, ids):
    """(B, T, T), true where row i must not see key j: later, or of another document.

    A separator is the last id of its document, so i and j belong together when as many separators
    lie before one as before the other.
    """
    length = ids.shape[1]
    future = torch.ones(length, length, dtype=torch.bool).triu(1).expand(len(ids), -1, -1)
    if not m["document_mask"]:
        return future
    document = torch.tensor(
        [[row[:i].count(SEPARATOR) for i in range(length)] for row in ids.tolist()]
    )
    return future | (document[:, :, None] != document[:, None, :])


def attention(m, w, prefix, x, hidden):
    """softmax(q k' / sqrt(C), masked) v, with what the positions add; heads joined; projected.

    x (B, T, D), hidden (B, T, T).
    """
    batch, length, width = x.shape
    size = width // m["num_heads"]

    def heads(name):
        return (x @ w[prefix + name].T).view(batch, length, -1, size).transpose(1, 2)

    q, k, v = heads("q_proj.weight"), heads("k_proj.weight"), heads("v_proj.weight")
    q, k, v = position_reference.turn(m, q, k, v)
    # query head h reads key/value head h // (H/K)
    group = m["num_heads"] // m["num_kv_heads"]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    scores = position_reference.scores(m, w, prefix, q, k)
    weights = torch.softmax(scores.masked_fill(hidden[:, None], -math.inf), -1)
    mixed = position_reference.mix(m, w, prefix, weights, v)
    return mixed.transpose(1, 2).reshape(batch, length, width) @ w[prefix + "output_proj.weight"].T


def silu(x):
    return x * torch.sigmoid(x)


def gelu(x):
    """The exact form, x times the normal distribution function of x."""
    return x * 0.5 * (1.0 + torch.erf(x / math.sqrt(2.0)))


ACTIVATIONS = {"silu": silu, "relu": torch.relu, "gelu": gelu}


def feed_forward(m, w, prefix, x):
    """swiglu: W2 (silu(W1 x) * W3 x); otherwise W2 act(W1 x)."""
    inner = x @ w[prefix + "w1.weight"].T
    if m["ffn"] == "swiglu":
        inner = silu(inner) * (x @ w[prefix + "w3.weight"].T)
    else:
        inner = ACTIVATIONS[m["ffn"]](inner)
    return inner @ w[prefix + "w2.weight"].T


def forward(config, weights, ids):
    """Logits (B, T, V) for ids (B, T)."""
    m, w = config["model"], weights

    def norm(x, name):
        return rmsnorm(x, w[name + ".weight"], m["norm_eps"])

    hidden = hidden_keys(m, ids)
    x = position_reference.embed(m, w, w["token_embeddings.weight"][ids])
    for n in range(m["num_layers"]):
        layer = f"layers.{n}."
        if m["norm"] == "pre":
            x = x + attention(m, w, layer + "attn.", norm(x, layer + "ln1"), hidden)
            x = x + feed_forward(m, w, layer + "ffn.", norm(x, layer + "ln2"))
        elif m["norm"] == "post":
            x = norm(x + attention(m, w, layer + "attn.", x, hidden), layer + "ln1")
            x = norm(x + feed_forward(m, w, layer + "ffn.", x), layer + "ln2")
        else:
            x = x + attention(m, w, layer + "attn.", x, hidden)
            x = x + feed_forward(m, w, layer + "ffn.", x)
    if m["norm"] != "none":
        x = norm(x, "ln_final")
    head = w["token_embeddings.weight"] if m["tie_embeddings"] else w["lm_head.weight"]
    return x @ head.T


def loss(config, weights, inputs, targets):
    """Mean over inputs, targets (B, T) of log-sum-exp(logits) - logit of the target, in nats."""
    logits = forward(config, weights, inputs)
    chosen = logits.gather(-1, targets[..., None])[..., 0]
    return (torch.logsumexp(logits, -1) - chosen).mean()


# ---- generation ----------------------------------------------------------------------------------


def generate_greedy(config, weights, prompt, count):
    """The count ids that follow the prompt, each the (lowest) id of the largest logit.

    The window holds at most context_length ids. When one more does not fit, the last half of the
    window stays and positions start at 0 again. No stop id: the caller cuts where it wants.
    """
    length = config["model"]["context_length"]
    window, new = [], []
    for id_ in prompt:
        window = append(window, id_, length)
    with torch.no_grad():
        for _ in range(count):
            logits = forward(config, weights, torch.tensor([window]))[0, -1].numpy()
            new.append(int(logits.argmax()))
            window = append(window, new[-1], length)
    return new


def append(window, id_, length):
    """The window with one id more; a full one first drops all but its last half."""
    if len(window) == length:
        window = window[length - length // 2 :]
    return window + [id_]


if __name__ == "__main__":
    run, wanted, ids = sys.argv[1], int(sys.argv[2]), [int(word) for word in sys.argv[3:]]
    loaded = load_config(f"{run}/config.json")
    print(*generate_greedy(loaded, load_weights(f"{run}/model.safetensors"), ids, wanted))
