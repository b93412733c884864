"""Makes compressed_tensors.json: what compressed-tensors unpacks from weights packed as ours are.

    pip install --no-deps --target peer compressed-tensors==0.20.1
    python3 record_compressed_tensors.py peer > compressed_tensors.json        # needs PyTorch, Debian's python3-torch will do

The package as a whole does not import beside Debian's PyTorch, which is too old for it, and PyPI's is built for CUDA; so
its three functions are taken out of its files and run as they are. Recorded are their answers, not their code. Where there
is a PyTorch, test_compressed_tensors.py makes the recording again.
"""
import ast
import json
import pathlib
import sys

import numpy as np
import torch


def function(path, name, **names):
    """One function of a source file, compiled alone."""
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if getattr(node, "name", "") == name]
    for node in tree.body:
        node.returns, node.decorator_list = None, []
        for argument in node.args.args:
            argument.annotation = None
    scope = {"torch": torch, "math": __import__("math"), "sys": sys, **names}
    exec(compile(tree, str(path), "exec"), scope)
    return scope[name]


def recording(installed):
    """What the package in this folder answers."""
    folder = pathlib.Path(installed) / "compressed_tensors" / "compressors"
    version = next(pathlib.Path(installed).glob("*.dist-info")).name.split("-")[1].removesuffix(".dist")
    unpack_int4 = function(folder / "pack_quantized" / "helpers.py", "unpack_from_int32")
    table = torch.tensor([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])
    unpack_fp4 = function(folder / "nvfp4" / "helpers.py", "unpack_fp4_from_uint8", kE2M1ToFloat=table)
    scale = function(folder / "mx_utils.py", "decompress_mx_scale")

    words = (np.arange(4 * 8, dtype=np.uint64) * 0x9E3779B9 % 2**32).astype(np.uint32).reshape(4, 8).view(np.int32)
    bytes_ = np.arange(256, dtype=np.uint8).reshape(8, 32)
    values = unpack_int4(torch.from_numpy(words), 4, torch.Size([4, 64]))
    elements = unpack_fp4(torch.from_numpy(bytes_), 8, 64, dtype=torch.float32)
    scales = scale(torch.arange(256, dtype=torch.uint8)).view(torch.int16).numpy().view(np.uint16)
    return {"package": "compressed-tensors", "version": version, "torch": torch.__version__.split("+")[0],
            "int4_words": words.tolist(), "int4_values": values.tolist(), "fp4_bytes": bytes_.tolist(),
            "fp4_values": elements.tolist(), "e8m0_as_bf16": [f"{int(v):04x}" for v in scales]}


if __name__ == "__main__":
    json.dump(recording(sys.argv[1]), sys.stdout)
    print()
