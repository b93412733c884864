"""Case files in and result files out, for examples in PyTorch that have nothing but PyTorch."""
import json
import pathlib

import torch

DTYPES = {"U8": torch.uint8, "I32": torch.int32, "I64": torch.int64, "BF16": torch.bfloat16, "F16": torch.float16,
          "F32": torch.float32, "F64": torch.float64}


def read(path):
    raw = pathlib.Path(path).read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + size])
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        dtype, shape = DTYPES[entry["dtype"]], entry["shape"]
        data = torch.frombuffer(bytearray(raw[begin:end]), dtype=dtype) if end > begin else torch.empty(0, dtype=dtype)
        tensors[name] = data.reshape(shape)
    return tensors


def write(path, output):
    name = next(name for name, dtype in DTYPES.items() if dtype == output.dtype)
    data = bytes(output.contiguous().view(torch.uint8).flatten().tolist()) if output.numel() else b""
    header = json.dumps({"output": {"dtype": name, "shape": list(output.shape), "data_offsets": [0, len(data)]}})
    pathlib.Path(path).write_bytes(len(header).to_bytes(8, "little") + header.encode() + data)


def serve(function, cases, results):
    """A result of the same name for every case of a folder."""
    for path in sorted(pathlib.Path(cases).iterdir()):
        write(pathlib.Path(results) / path.name, function(**read(path)))
