"""A subject of moe4 in Python with only NumPy: expert_linear and indexed, MXFP4 and INT4 weights.

    moe4 gate --command 'python3 docs/examples/command/numpy_subject.py {cases} {results}' \
              --declare docs/examples/command/numpy_subject.json

For every file of the folder {cases} it writes a result of the same name into {results}. It sums products in FP32, in
the order of i, and rounds once at the end, which is what numpy_subject.json declares.
"""
import json
import pathlib
import struct
import sys

import numpy as np

# --- safetensors: 8 bytes of length, a JSON header, the data ---------------------------------------------------------
STORED = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F16": np.float16, "F32": np.float32, "F64": np.float64,
          "BF16": np.uint16}  # NumPy has no BF16: its bits


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    tensors, dtypes = {}, {}
    for name, entry in header.items():
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], STORED[entry["dtype"]]).reshape(entry["shape"])
        dtypes[name] = entry["dtype"]
    return metadata, tensors, dtypes


def write(path, tensors):
    """tensors: name -> (dtype, array)."""
    header, blocks, at = {}, [], 0
    for name, (dtype, array) in tensors.items():
        block = np.ascontiguousarray(array, STORED[dtype]).tobytes()
        header[name] = {"dtype": dtype, "shape": list(array.shape), "data_offsets": [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blocks))


# --- numbers ---------------------------------------------------------------------------------------------------------
def bf16_to_f32(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def f32_to_bf16(values):
    """To nearest, ties to even."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return np.where(np.isnan(values), 0x7FC0, rounded).astype(np.uint16)


def f64_of(array, dtype):
    return bf16_to_f32(array).astype(np.float64) if dtype == "BF16" else array.astype(np.float64)


def store(values, dtype):
    """FP32 values, rounded once to the dtype of the output."""
    return f32_to_bf16(values) if dtype == "BF16" else values.astype(STORED[dtype])


# --- weights of one expert, [O, I], as FP64, where all of them are exact -----------------------------------------------
E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])
NIBBLES = (0, 4)  # the low nibble comes first


def mxfp4(packed, scale_bytes):
    """packed [O, G, 16], scale_bytes [O, G]."""
    codes = np.stack([(packed >> shift) & 15 for shift in NIBBLES], axis=-1).reshape(*packed.shape[:2], 32)
    scales = np.ldexp(1.0, scale_bytes.astype(np.int64) - 127)
    scales[scale_bytes == 255] = np.nan
    return (E2M1[codes] * scales[..., None]).reshape(packed.shape[0], -1)


def int4(packed, scales):
    """packed [O, I/8], eight codes a word; scales [O, G], bits of BF16. A weight is rounded to BF16."""
    codes = (packed[..., None].astype(np.uint32) >> np.arange(0, 32, 4, dtype=np.uint32)) & 15
    q = codes.reshape(*scales.shape, 32).astype(np.float32) - 8
    weights = q * bf16_to_f32(scales)[..., None]  # exact in FP32: 4 bits times 8 bits
    return bf16_to_f32(f32_to_bf16(weights)).reshape(packed.shape[0], -1).astype(np.float64)


class Experts:
    def __init__(self, metadata, tensors):
        self.decode = mxfp4 if metadata["moe4.weights"] == "mxfp4" else int4
        self.packed = tensors["packed_weights"]
        self.scales = tensors["scale_bytes" if self.decode is mxfp4 else "scales"]
        self.out = self.packed.shape[1]
        self.ready = {}

    def dot(self, expert, x):
        """Sum over i of W[o, i] * x[i] for every o: products rounded to FP32, added in the order of i."""
        if expert not in self.ready:
            self.ready[expert] = self.decode(self.packed[expert], self.scales[expert])
        products = (self.ready[expert] * x).astype(np.float32)
        return np.add.accumulate(products, axis=1, dtype=np.float32)[:, -1]


# --- operations ------------------------------------------------------------------------------------------------------
def expert_linear(metadata, tensors, dtypes):
    dtype = dtypes["latent_tokens"]
    x = f64_of(tensors["latent_tokens"], dtype)
    p = f64_of(tensors["mixture_weights"], dtypes["mixture_weights"]).astype(np.float32)
    shared = f64_of(tensors["shared_output"], dtypes["shared_output"]).astype(np.float32)
    experts = Experts(metadata, tensors)
    ids = tensors["selected_experts"]
    y = shared.copy()
    for t in range(y.shape[0]):
        for j in range(ids.shape[1]):
            y[t] = y[t] + p[t, j] * experts.dot(int(ids[t, j]), x[t])
    return {"output": (dtype, store(y, dtype))}


def indexed(metadata, tensors, dtypes):
    top_k, block_m = int(metadata["moe4.top_k"]), int(metadata["moe4.block_m"])
    x = f64_of(tensors["latent_tokens"], "BF16")
    rows = x.shape[0] * top_k
    experts = Experts(metadata, tensors)
    y = np.zeros((rows, experts.out), np.float32)
    written = np.zeros(rows, np.uint8)
    for r in range(int(tensors["num_tokens_padded"].reshape(-1)[0])):
        row = int(tensors["sorted_ids"][r])
        if row >= rows:
            continue  # a sentinel
        y[row] = experts.dot(int(tensors["expert_ids"][r // block_m]), x[row // top_k])
        written[row] = 1
    return {"output": ("BF16", f32_to_bf16(y)), "written": ("U8", written)}


OPERATIONS = {"expert_linear": expert_linear, "indexed": indexed}


def main(cases, results):
    for case in sorted(pathlib.Path(cases).iterdir()):
        metadata, tensors, dtypes = read(case)
        with np.errstate(all="ignore"):
            result = OPERATIONS[metadata["moe4.op"]](metadata, tensors, dtypes)
        partial = pathlib.Path(results) / (case.name + ".part")
        write(partial, result)
        partial.rename(partial.with_suffix(""))


if __name__ == "__main__":
    main(*sys.argv[1:])
