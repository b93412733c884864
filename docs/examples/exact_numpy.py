"""The norm once more, in integers: NumPy reads the files, Python's integers are the numbers. A third opinion on every
golden fixture, which shares nothing with moe4 but docs/spec.   python exact_numpy.py fixtures/golden"""
import json
import math
import pathlib
import sys

import numpy as np

FORMATS = {"BF16": (8, 7), "F16": (5, 10), "F32": (8, 23), "F64": (11, 52)}  # bits of exponent and mantissa
STORED = {"U8": "u1", "I32": "<i4", "I64": "<i8", "BF16": "<u2", "F16": "<u2", "F32": "<u4", "F64": "<u8"}
UNIT = 1200  # a finite number is a whole number of 2^-UNIT, a product of two of 2^(-2 UNIT), ...; others are floats


def read(path):
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    metadata, tensors = header.pop("__metadata__", {}), {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        array = np.frombuffer(raw[8 + size + begin : 8 + size + end], STORED[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = (entry["dtype"], array)
    return metadata, tensors


def decode(dtype, bits):
    exponent_bits, mantissa_bits = FORMATS[dtype]
    sign = -1 if bits >> (exponent_bits + mantissa_bits) else 1
    field, mantissa = bits >> mantissa_bits & (1 << exponent_bits) - 1, bits & (1 << mantissa_bits) - 1
    if field == (1 << exponent_bits) - 1:
        return math.nan if mantissa else sign * math.inf
    exponent = max(field, 1) - (1 << exponent_bits - 1) + 1 - mantissa_bits
    return sign * (mantissa | (field > 0) << mantissa_bits) << exponent + UNIT


def numbers(tensor):
    return np.array([decode(tensor[0], int(bits)) for bits in tensor[1].flat] + [None], object)[:-1].reshape(tensor[1].shape)


def times(a, b):  # over the extended reals: a finite factor of an infinity matters by its sign alone
    if type(a) is int and type(b) is int:
        return a * b
    sign = lambda v: float((v > 0) - (v < 0)) if type(v) is int else v
    return sign(a) * sign(b)


def plus(a, b):
    if type(a) is int and type(b) is int:
        return a + b
    return (0.0 if type(a) is int else a) + (0.0 if type(b) is int else b)


def encode(value, units, dtype):  # round to nearest even (FMT-7)
    exponent_bits, mantissa_bits = FORMATS[dtype]
    infinity = ((1 << exponent_bits) - 1) << mantissa_bits
    if value != value:
        return infinity | 1 << mantissa_bits - 1
    sign = int(value < 0) << exponent_bits + mantissa_bits
    if type(value) is float:
        return sign | infinity
    lowest = 2 - (1 << exponent_bits - 1) - mantissa_bits + units * UNIT  # of the smallest subnormal
    shift = max(abs(value).bit_length() - 1 - mantissa_bits, lowest)
    kept, rest, half = abs(value) >> shift, abs(value) & (1 << shift) - 1, 1 << shift - 1
    kept += rest > half or (rest == half and kept & 1)
    return sign | min(kept + (shift - lowest << mantissa_bits), infinity)


def weight_row(t, e, o, policy):
    packed = t["packed_weights"][1][e, o]
    if "scales" in t:  # INT-4
        codes = [int(word) >> 4 * n & 15 for word in packed.view(np.uint32) for n in range(8)]
        scales = [decode("BF16", int(bits)) for bits in t["scales"][1][e, o]]
        product = lambda i: times(codes[i] - 8 << UNIT, scales[i // 32])
        return [decode("BF16", encode(product(i), 2, "BF16")) for i in range(len(codes))]
    codes = [int(byte) >> shift & 15 for byte in packed.flat for shift in (0, 4)]  # FMT-3
    row = []
    for i, code in enumerate(codes):
        scale = int(t["scale_bytes"][1][e, o, i // 32])
        value = (0, 1, 2, 3, 4, 6, 8, 12)[code & 7] * (-1 if code & 8 else 1) << scale - 128 + UNIT
        if scale == 255 and policy.get("scale_nan", "ocp") != "formula":
            value = times(value, math.inf) if policy.get("scale_nan") == "inf" else math.nan
        row.append(0 if scale == 0 and policy.get("scale_zero") == "flush" else value)
    return row


def routed_rows(op, meta, t):  # (row of the output, expert, row of the tokens) of every written row
    if op == "indexed":
        top_k, block = int(meta["moe4.top_k"]), int(meta["moe4.block_m"])
        ids = t["sorted_ids"][1][: int(t["num_tokens_padded"][1].flat[0])]
        routes = t["latent_tokens"][1].shape[0] * top_k
        return [(v, int(t["expert_ids"][1][r // block]), v // top_k) for r, v in enumerate(map(int, ids)) if v < routes]
    if op == "grouped_contiguous":
        return [(r, int(e), r) for r, e in enumerate(t["m_indices"][1]) if e >= 0]
    counts = [int(n) for n in t["masked_m"][1]]
    max_m = math.prod(t["latent_tokens"][1].shape[:-1]) // max(len(counts), 1)
    return [(e * max_m + r, e, e * max_m + r) for e, n in enumerate(counts) for r in range(n)]


def norm(meta, t, dtype):  # {(row, o): encoding}
    op, policy = meta["moe4.op"], dict(word.split("=") for word in meta.get("moe4.policy", "").split())
    rows = t["rows"][1].shape[0] if op == "combine" else None
    x = numbers(t["latent_tokens"] if rows is None else t["rows"])
    x = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    outs = x.shape[-1] if op == "combine" else t["packed_weights"][1].shape[1]
    result, cache = {}, {}

    def dot(e, o, r):
        if (e, o) not in cache:
            cache[e, o] = weight_row(t, e, o, policy)
        total = 0
        for w, v in zip(cache[e, o], x[r]):
            total = plus(total, times(w, v))
        return total

    if op not in ("expert_linear", "combine"):
        return {(row, o): encode(dot(e, o, r), 2, dtype) for row, e, r in routed_rows(op, meta, t) for o in range(outs)}
    p, shared = numbers(t["mixture_weights"]), numbers(t["shared_output"])
    for tok, o in np.ndindex(shared.shape):
        total, terms = times(shared[tok, o], 1 << (UNIT if op == "combine" else 2 * UNIT)), 0
        for j in range(p.shape[1]):
            e = int(t["selected_experts"][1][tok, j]) if "selected_experts" in t else 0
            if e == -1 or (policy.get("skip_zero_p") == "yes" and type(p[tok, j]) is int and p[tok, j] == 0):
                continue
            total = plus(total, times(p[tok, j], x[tok * p.shape[1] + j, o] if op == "combine" else dot(e, o, tok)))
            terms += 1
        bits = encode(total, 2 if op == "combine" else 3, dtype)
        source_dtype, source = t["shared_output"]
        if type(total) is int and total == 0 and terms == 0 and int(source[tok, o]) >> sum(FORMATS[source_dtype]):
            bits |= 1 << sum(FORMATS[dtype])  # COR-8: no term, shared's own -0
        result[tok, o] = bits
    return result


def main(folder):
    wrong = outputs = 0
    cases = sorted(folder.glob("*.case.safetensors"))
    for path in cases:
        recorded_path = path.with_name(path.name.replace(".case.", ".result."))
        if not recorded_path.exists():
            continue  # a case that the norm refuses
        meta, tensors = read(path)
        dtype, recorded = read(recorded_path)[1]["output"]
        recorded = recorded.reshape(math.prod(recorded.shape[:-1]), recorded.shape[-1])
        due = norm(meta, tensors, dtype)
        differing = [key for key, bits in due.items() if int(recorded[key]) != bits]
        outputs, wrong = outputs + len(due), wrong + len(differing)
        for key in differing[:3]:
            print(f"{path.name} {key}: recorded {int(recorded[key]):#x}, here {due[key]:#x}")
    print(f"{'FAILED' if wrong or not outputs else 'PASSED'}: {outputs} outputs of {len(cases)} cases, {wrong} differ")
    return 1 if wrong or not outputs else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
