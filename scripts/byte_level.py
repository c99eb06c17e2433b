"""What GPT-2's byte-level BPE fixes, for the scripts that compare with other tokenizers."""

PATTERN = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"""
END = "<|endoftext|>"


def byte_alphabet():
    """The letter that stands for each byte in vocab.json, as a map from letter to byte."""
    itself = [*range(33, 127), *range(161, 173), *range(174, 256)]
    table = {chr(b): b for b in itself}
    for b in range(256):
        if b not in itself:
            table[chr(256 + len(table) - len(itself))] = b
    return table
