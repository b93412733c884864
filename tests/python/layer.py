"""A small layer with no two numbers alike, as NumPy arrays, for either weight format."""
import exact_numpy
import ml_dtypes
import numpy as np


def layer(weights="mxfp4", tokens=3, experts=4, width=64, outs=5, top_k=2, dtype=ml_dtypes.bfloat16, seed=0):
    rng = np.random.default_rng(seed)
    made = {"latent_tokens": rng.standard_normal((tokens, width)).astype(dtype)}
    if weights == "mxfp4":
        made["packed_weights"] = rng.integers(0, 256, (experts, outs, width // 32, 16), dtype=np.uint8)
        made["scale_bytes"] = rng.integers(110, 140, (experts, outs, width // 32), dtype=np.uint8)
    else:
        made["packed_weights"] = rng.integers(-(2**31), 2**31, (experts, outs, width // 8)).astype(np.int32)
        made["scales"] = rng.standard_normal((experts, outs, width // 32)).astype(ml_dtypes.bfloat16)
    made["selected_experts"] = rng.integers(0, experts, (tokens, top_k)).astype(np.int32)
    made["mixture_weights"] = rng.random((tokens, top_k)).astype(np.float32)
    made["shared_output"] = rng.standard_normal((tokens, outs)).astype(dtype)
    return made


def integers(tensors):
    """The encodings of the output by docs/examples/exact_numpy.py, as nested lists."""
    names = {"bfloat16": "BF16", "float16": "F16", "float32": "F32", "float64": "F64"}
    dtypes = {name: names.get(array.dtype.name) for name, array in tensors.items()}
    rows = exact_numpy.expert_linear({}, tensors, dtypes, {}, dtypes["latent_tokens"])
    return [rows[row].tolist() for row in sorted(rows)]
