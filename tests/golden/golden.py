"""The greedy ids of a fixed, untrained model, by the float64 reference of tests/parity: the golden test's fixture.

    ./train config.json --run RUN          in a copy of this folder: weights from the seed of the config
    golden.py RUN > greedy.txt             one line per prompt: its ids, a colon, the 40 ids that follow

Prompts of 1, T - 1, T, T + 1 and 100 tokens, T being the context length. The script refuses a fixture in which the two
largest logits are ever closer than 1e-4: float32 could then decide the other way.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "parity"))
import torch
from model_reference import append, forward, load_config, load_weights

COUNT = 40


def greedy(config, weights, prompt):
    length = config["model"]["context_length"]
    window, new = [], []
    for id_ in prompt:
        window = append(window, id_, length)
    for _ in range(COUNT):
        logits = forward(config, weights, torch.tensor([window]))[0, -1]
        first, second = torch.topk(logits, 2).values
        if first - second < 1e-4:
            sys.exit(f"golden.py: the two largest logits differ by {first - second:.1e}; take another seed")
        new.append(int(logits.argmax()))
        window = append(window, new[-1], length)
    return new


if __name__ == "__main__":
    loaded = load_config(f"{sys.argv[1]}/config.json")
    arrays = load_weights(f"{sys.argv[1]}/model.safetensors")
    context, vocab = loaded["model"]["context_length"], loaded["model"]["vocab_size"]
    with torch.no_grad():
        for count in (1, context - 1, context, context + 1, 100):
            ids = [(7 + 31 * i * i) % vocab for i in range(count)]
            print(*ids, ":", *greedy(loaded, arrays, ids))
