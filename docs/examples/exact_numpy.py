"""The norm once more, in NumPy arrays of Python's integers: a third opinion on every golden fixture of expert_linear, for both
weight formats, all dtypes and policies. It shares nothing with moe4 but docs/spec.

    python3 docs/examples/exact_numpy.py fixtures/golden

A number is a pair (n, s): n units of 2^-1200, if s is the sign of n; no number, if s is an infinity or NaN."""
import sys

import numpy as np

from golden_check import check, rows_of

FORMATS = {"BF16": (8, 7), "F16": (5, 10), "F32": (8, 23), "F64": (11, 52)}  # bits of exponent and of fraction
TWICE = np.array([0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12], object)  # FMT-1
np.seterr(invalid="ignore")  # Inf - Inf and 0 * Inf are meant


def pair(n, s):
    return n, np.where(np.isfinite(s), (n > 0) * 1.0 - (n < 0), s)


def times(a, b):  # in units of 2^-2400
    return pair(a[0] * b[0], a[1] * b[1])


def total(terms):
    return pair(terms[0].sum(-1), terms[1].sum(-1))


def decode(bits, dtype):
    e, m = FORMATS[dtype]
    bits = (bits if bits.dtype == object else bits.view(f"u{bits.itemsize}")).astype(object)
    field, fraction, sign = bits >> m & (1 << e) - 1, bits & (1 << m) - 1, 1 - 2 * (bits >> e + m)
    exponent = np.maximum(field, 1) - (1 << e - 1) + 1 - m
    special = np.where(fraction == 0, sign * np.inf, np.nan).astype(float)
    return pair(sign * (fraction | (field > 0) << m) << exponent + 1200, np.where(field < (1 << e) - 1, 0, special))


def encode(n, s, factors, dtype):  # to nearest even (FMT-7), n in units of 2^(-1200 factors)
    e, m = FORMATS[dtype]
    infinity = (1 << e) - 1 << m
    if not np.isfinite(s):
        return infinity | (1 << m - 1 if s != s else int(s < 0) << e + m)
    lowest = 2 - (1 << e - 1) - m + 1200 * factors  # the smallest subnormal
    shift = max(abs(n).bit_length() - 1 - m, lowest)
    kept, rest, half = abs(n) >> shift, abs(n) & (1 << shift) - 1, 1 << shift - 1
    kept += rest > half or (rest == half and kept & 1)
    return int(n < 0) << e + m | min(kept + (shift - lowest << m), infinity)


encoded = np.frompyfunc(encode, 4, 1)


def weights(t, policy, expert):  # [O, I] of one expert
    packed = t["packed_weights"][expert]
    if "scales" in t:  # INT-4
        q = (packed.view(np.uint32)[..., None] >> np.arange(0, 32, 4) & 15).astype(object) - 8
        scales = [part.repeat(4, -1)[..., None] for part in decode(t["scales"][expert], "BF16")]
        w = decode(encoded(*times(pair(q << 1200, 0.0), scales), 2, "BF16"), "BF16")
    else:  # FMT-3, FMT-5
        byte = t["scale_bytes"][expert][..., None, None].astype(object)
        n = TWICE[np.stack([packed & 15, packed >> 4], -1)] << byte - 128 + 1200
        nan = {"ocp": np.nan, "inf": np.inf, "formula": 0}[policy.get("scale_nan", "ocp")]  # COR-1
        n = np.where((byte == 0) & (policy.get("scale_zero") == "flush"), 0, n)  # COR-2
        w = pair(n, np.where(byte == 255, np.sign(n).astype(float) * nan, 0))
    return rows_of(w)


def mixed(rows, t, dtypes, policy, dtype):  # RTE-13: shared + sum of p * row; rows by token * K + slot
    p, shared = (decode(t[name], dtypes[name]) for name in ("mixture_weights", "shared_output"))
    result = {}
    for token, (n, s) in enumerate(zip(*shared)):
        terms = [(n << 2400, s)]
        for j in range(p[0].shape[1]):
            absent = "selected_experts" in t and t["selected_experts"][token, j] == -1  # COR-5
            if not absent and not (policy.get("skip_zero_p") == "yes" and p[1][token, j] == 0):  # COR-6
                terms.append(times((p[0][token, j], p[1][token, j]), rows[token * p[0].shape[1] + j]))
        result[token] = encoded(*total([np.stack(parts, -1) for parts in zip(*terms)]), 3, dtype)
        if len(terms) == 1:  # LIN-7: no slot contributed, a zero keeps the sign of shared
            bits = t["shared_output"][token].view(f"u{t['shared_output'].itemsize}").astype(object)
            result[token] |= bits >> sum(FORMATS[dtypes["shared_output"]]) << sum(FORMATS[dtype])
    return result


def expert_linear(meta, t, dtypes, policy, dtype):
    x, ids = decode(t["latent_tokens"], dtypes["latent_tokens"]), t["selected_experts"]
    rows = {r: total(times(weights(t, policy, e), [part[r // ids.shape[1]] for part in x]))
            for r, e in enumerate(ids.flat) if e >= 0}
    return mixed(rows, t, dtypes, policy, dtype)


if __name__ == "__main__":
    sys.exit(check(sys.argv[1], {"expert_linear": expert_linear}))
