"""Writes documents for json_peer_test: whole and damaged JSON, each with the verdict of Python's json
module (made strict where ours is: NUL, lone surrogates, infinities, duplicate keys, depth, length of
numbers). Format: length (4 bytes, little endian), verdict (1 byte), document.

    python3 json_cases.py SEED COUNT > cases"""
import json, math, random, struct, sys


class Refused(Exception):
    pass


def refuse(*_):
    raise Refused


def unique(pairs):
    return dict(pairs) if len(dict(pairs)) == len(pairs) else refuse()


def number(text, kind):
    value = kind(text)
    return refuse() if len(text) > 63 or math.isinf(float(value)) else value


def check(value, depth):
    if isinstance(value, str):
        value.encode("utf-8")  # refuses lone surrogates
        return refuse() if "\0" in value else None
    if isinstance(value, (dict, list)):
        if depth == 64:
            refuse()
        for item in [*value, *value.values()] if isinstance(value, dict) else value:
            check(item, depth + 1)


def accepted(document):
    try:
        text = document.decode("utf-8")
        text = text[1:] if text.startswith("\ufeff") else text
        check(json.loads(text, object_pairs_hook=unique, parse_constant=refuse,
                         parse_float=lambda s: number(s, float),
                         parse_int=lambda s: number(s, int)), 0)
        return b"\0" not in document
    except (Refused, ValueError, OverflowError, RecursionError):
        return False


SCALARS = ["1", "-0", "0.5", "1e5", "-1.25E-3", '"x"', '"\\u00e9\\ud83d\\ude00"', "true", "null",
           '""', '"é\\\\"']
KEYS = ["a", "b", "c", "d", "\\u0061", ""]
PIECES = [b"{", b"}", b"[", b"]", b",", b":", b'"', b'"a"', b'"b"', b"1", b"0", b"-", b".", b"e", b"E",
          b"+", b"true", b"false", b"null", b" ", b"\n", b"\t", b"\r", b"\\", b"\\u", b"00e9", b"d83d",
          b"\\ude00", b"\xc3\xa9", b"\xff", b"\xef\xbb\xbf", b"NaN", b"Infinity", b"1e308", b"1e309",
          b"/", b"#", b"\x0b", b"\x7f", b"\x01", b"\xc2\xa0", b"\\n", b'\\"', b"9007199254740993", b"01",
          b"\0"]


def document(depth=0):
    kind = random.random()
    if depth > 4 or kind < 0.4:
        return random.choice(SCALARS)
    if kind < 0.7:
        members = [f'"{random.choice(KEYS)}" : {document(depth + 1)}' for _ in range(random.randrange(4))]
        return "{" + ",".join(members) + "}"
    return "[" + ", ".join(document(depth + 1) for _ in range(random.randrange(4))) + "]"


def damaged(text):
    for _ in range(random.choice([0, 1, 1, 2])):
        at = random.randrange(len(text) + 1)
        cut = random.choice([0, 1])
        text[at:at + cut] = random.choice([b""] * cut * 20 + PIECES)
    return bytes(text)


random.seed(int(sys.argv[1]))
for n in range(int(sys.argv[2])):
    if n % 5:
        text = damaged(bytearray(document().encode()))
    elif n % 100 == 0:
        depth = random.choice([63, 64, 65, 200])
        text = random.choice([b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth])
    else:
        text = b"".join(random.choice(PIECES) for _ in range(random.randrange(8)))
    sys.stdout.buffer.write(struct.pack("<IB", len(text), accepted(text)) + text)
