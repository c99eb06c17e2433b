"""Positional schemes in float64 PyTorch, written from their papers' formulas.

A scheme may change the embeddings (embed), turn queries, keys or values (turn), add to the scores
before the softmax (scores) and to what the weights are applied to (values). Letters: B rows, T
positions, D d_model, H heads, C = D/H.
"""

import math

import torch

ABSOLUTE = ("sinusoidal", "sinusoidal_learned", "learned", "index")


def with_defaults(model):
    """model["position"] with every default written out."""
    length = model["context_length"]
    position = {"type": "rope", **model.get("position", {})}
    defaults = {
        "rope": {
            "theta": 10000.0,
            "layout": "interleaved",
            "fraction": 1.0,
            "rotate_values": False,
        },
        "sinusoidal": {"layout": "interleaved", "base": 10000.0},
        "sinusoidal_learned": {"base": 10000.0},
        "t5": {"buckets": 32, "max_distance": 128},
        "window": {"max_distance": length},
        "shaw": {"max_distance": 16, "values": True},
    }
    position = {**defaults.get(position["type"], {}), **position}
    if position["type"] in ABSOLUTE:
        position.setdefault("inject", "add")
    scaling = dict(position.get("scaling", {"type": "none"}))
    if position["type"] == "rope":
        scaling.setdefault("original_context", length)
        scaling.setdefault("factor", length / scaling["original_context"])
        position["scaling"] = {
            "beta_fast": 32.0,
            "beta_slow": 1.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            **scaling,
        }
    return position


def shapes(model):
    """{name: shape} of the trained tensors of the model's scheme."""
    position, width, heads = model["position"], model["d_model"], model["num_heads"]
    result = {}
    if position["type"] == "learned":
        result["position_embeddings.weight"] = (model["context_length"], width)
    if position["type"] == "sinusoidal_learned":
        result["position_frequencies.weight"] = ((width + 1) // 2,)
    if position.get("inject") == "gate":
        result["position_gate.weight"] = (width,)
    if position.get("inject") == "concat":
        result["position_proj.weight"] = (width, 2 * width)
    for n in range(model["num_layers"]):
        prefix = f"layers.{n}.attn."
        if position["type"] == "t5":
            result[prefix + "relative_bias.weight"] = (position["buckets"], heads)
        if position["type"] == "window":
            result[prefix + "relative_bias.weight"] = (2 * position["max_distance"] - 1, heads)
        if position["type"] == "shaw":
            table = (2 * position["max_distance"] + 1, width // heads)
            result[prefix + "relative_keys.weight"] = table
            if position["values"]:
                result[prefix + "relative_values.weight"] = table
        if position["type"] == "transformer_xl":
            result[prefix + "content_bias.weight"] = result[prefix + "position_bias.weight"] = (
                heads,
                width // heads,
            )
            result[prefix + "position_proj.weight"] = (width, width)
    return result


def stored(x):
    """A table as the program keeps it: computed in double, rounded to float once."""
    return x.float().to(x.dtype)


def positions(length):
    return torch.arange(length, dtype=torch.float64)


# ---- in the embeddings ---------------------------------------------------------------------------


def sinusoid(length, width, frequencies, layout):
    """(length, width) of sin and cos of m * frequency: side by side, or all sines first."""
    angle = positions(length)[:, None] * frequencies
    pairs = width // 2
    if layout == "interleaved":
        table = torch.stack([angle.sin(), angle.cos()], -1).flatten(-2)
        return table[:, :width]  # an odd width ends with a sine
    table = torch.cat([angle.sin()[:, :pairs], angle.cos()[:, :pairs]], -1)
    return torch.nn.functional.pad(table, (0, width - 2 * pairs))


def frequencies_of(base, count, width):
    return base ** (-2.0 * positions(count) / width)


def embed(model, w, x):
    """x (B, T, D) with the positions of an absolute scheme added, gated or mixed in."""
    position = model["position"]
    if position["type"] not in ABSOLUTE:
        return x
    length, width = x.shape[-2:]
    if position["type"] == "sinusoidal":
        frequencies = frequencies_of(position["base"], (width + 1) // 2, width)
        p = stored(sinusoid(length, width, frequencies, position["layout"]))
    elif position["type"] == "sinusoidal_learned":
        p = sinusoid(length, width, w["position_frequencies.weight"], "interleaved")
    elif position["type"] == "learned":
        p = w["position_embeddings.weight"][:length]
    else:  # index: the number itself, in the first channel
        p = torch.nn.functional.pad(positions(length)[:, None], (0, width - 1))
    if position["inject"] == "gate":
        return x + w["position_gate.weight"] * p
    if position["inject"] == "concat":
        return torch.cat([x, p.expand_as(x)], -1) @ w["position_proj.weight"].T
    return x + p


# ---- turning queries and keys --------------------------------------------------------------------


def rope_frequencies(position, rotated, length):
    """The frequencies of the rotated/2 pairs after scaling, and the factor on cos and sin."""
    base, scaling = position["theta"], position["scaling"]
    kind, factor, original = scaling["type"], scaling["factor"], scaling["original_context"]
    if kind == "ntk":
        base *= factor ** (rotated / (rotated - 2))
    if kind == "dynamic_ntk":
        base *= (factor * max(length, original) / original - (factor - 1)) ** (
            rotated / (rotated - 2)
        )
    theta = frequencies_of(base, rotated // 2, rotated)
    if kind == "linear":
        return theta / factor, 1.0
    if kind == "yarn":

        def index(turns):
            return rotated * math.log(original / (2 * math.pi * turns)) / (2 * math.log(base))

        low = max(math.floor(index(scaling["beta_fast"])), 0)
        high = min(math.ceil(index(scaling["beta_slow"])), rotated - 1)
        ramp = ((positions(rotated // 2) - low) / max(high - low, 1e-3)).clamp(0, 1)
        return theta * (1 - ramp) + theta / factor * ramp, (
            1 + 0.1 * math.log(factor) if factor > 1 else 1.0
        )
    if kind == "llama3":
        turns = original * theta / (2 * math.pi)
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        smooth = ((turns - low) / (high - low)).clamp(0, 1)
        return theta / factor * (1 - smooth) + theta * smooth, 1.0
    return theta, 1.0


def turn(model, q, k, v):
    """Queries, keys and values (B, heads, T, C) as they meet in the scores."""
    position = model["position"]
    if position["type"] != "rope":
        return q, k, v

    def rotate(x):
        length, size = x.shape[-2:]
        rotated = int(size * position["fraction"])
        frequency, magnitude = rope_frequencies(position, rotated, length)
        angle = positions(length)[:, None] * frequency
        cos, sin = stored(angle.cos() * magnitude), stored(angle.sin() * magnitude)
        head, rest = x[..., :rotated], x[..., rotated:]
        if position["layout"] == "interleaved":
            a, b = head[..., 0::2], head[..., 1::2]
            return torch.cat(
                [torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2), rest], -1
            )
        a, b = head.chunk(2, -1)
        return torch.cat([a * cos - b * sin, a * sin + b * cos, rest], -1)

    return rotate(q), rotate(k), rotate(v) if position["rotate_values"] else v


# ---- in the scores -------------------------------------------------------------------------------


def alibi_slopes(heads):
    """2^(-8k/n), k = 1 … n, n a power of two; else of the power below, then odd k of the next."""
    power = 2 ** math.floor(math.log2(heads))
    slopes = [2.0 ** (-8 * k / power) for k in range(1, power + 1)]
    slopes += [2.0 ** (-8 * k / (2 * power)) for k in range(1, 2 * (heads - power), 2)]
    return torch.tensor(slopes, dtype=torch.float64)


def t5_bucket(distance, buckets, most):
    """Half of the buckets hold one distance each, the others ever wider ranges up to `most`."""
    near, far = buckets // 2, buckets - buckets // 2
    if distance < near:
        return distance
    bucket = near
    # bucket near + t begins where distance = near * (most/near)^(t/far)
    while bucket + 1 < buckets and distance**far * near ** (
        bucket + 1 - near
    ) >= near**far * most ** (bucket + 1 - near):
        bucket += 1
    return bucket


def distance_matrix(length):
    """(T, T) of i - j, query minus key."""
    return torch.arange(length)[:, None] - torch.arange(length)[None, :]


def scores(model, w, prefix, q, k):
    """Scores (B, H, T, T) before the mask, for q and k (B, H, T, C) as turned."""
    position, size, length = model["position"], q.shape[-1], q.shape[-2]
    kind, root = position["type"], math.sqrt(q.shape[-1])
    distance = distance_matrix(length)
    plain = q @ k.transpose(-1, -2)
    if kind == "alibi":
        return plain / root - alibi_slopes(q.shape[1])[:, None, None] * distance
    if kind == "t5":
        rows = distance.clamp(min=0).apply_(
            lambda d: t5_bucket(d, position["buckets"], position["max_distance"])
        )
        return plain / root + w[prefix + "relative_bias.weight"][rows].permute(2, 0, 1)
    if kind == "window":
        rows = distance + position["max_distance"] - 1
        return plain / root + w[prefix + "relative_bias.weight"][rows].permute(2, 0, 1)
    if kind == "shaw":
        most = position["max_distance"]
        keys = w[prefix + "relative_keys.weight"][
            (-distance).clamp(-most, most) + most
        ]  # (T, T, C)
        return (plain + torch.einsum("bhic,ijc->bhij", q, keys)) / root
    if kind == "transformer_xl":
        width = model["d_model"]
        table = stored(
            sinusoid(length, width, frequencies_of(10000.0, width // 2, width), "concat")
        )
        keys = (table @ w[prefix + "position_proj.weight"].T).view(
            length, -1, size
        )  # row: distance
        u, v = w[prefix + "content_bias.weight"], w[prefix + "position_bias.weight"]
        content = (q + u[:, None]) @ k.transpose(-1, -2)
        place = torch.einsum("bhic,ijhc->bhij", q + v[:, None], keys[distance.clamp(min=0)])
        return (content + place) / root
    return plain / root


def mix(model, w, prefix, weights, v):
    """What the attention weights (B, H, T, T) make of the values (B, H, T, C)."""
    position, mixed = model["position"], weights @ v
    if position["type"] == "shaw" and position["values"]:
        most = position["max_distance"]
        rows = (-distance_matrix(weights.shape[-1])).clamp(-most, most) + most
        mixed = mixed + torch.einsum(
            "bhij,ijc->bhic", weights, w[prefix + "relative_values.weight"][rows]
        )
    return mixed
