"""What users have, as Views of its memory; and results, as what users have."""

from __future__ import annotations

import sys
from typing import Any

import ml_dtypes
import numpy as np

from . import _moe4

BF16 = np.dtype(ml_dtypes.bfloat16)
_LISTS = {"float": np.float32, "id": np.int64, "i32": np.int32, "byte": np.uint8}


def _is_torch(value: Any) -> bool:
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(value, tensor)


def _from_list(field: str, value: Any, kind: str) -> np.ndarray:
    """Nested lists and plain numbers: floats as F32, ids as I64, bytes as U8, words as the 32 bits that they are."""
    try:
        if kind == "float":
            with np.errstate(over="ignore"):
                return np.asarray(value, dtype=np.float64).astype(np.float32)
        integers = np.asarray(value, dtype=object)
        if kind == "byte" and all(0 <= int(v) <= 255 for v in integers.flat):
            return integers.astype(np.uint8)
        if kind == "word" and all(-(2**31) <= int(v) < 2**32 for v in integers.flat):
            return np.asarray(integers, dtype=np.int64).astype(np.uint32).view(np.int32)
        if kind in ("id", "i32"):
            return integers.astype(_LISTS[kind])
    except (TypeError, ValueError, OverflowError):
        pass
    raise _moe4_error(field, "a nested list of equal rows is needed, with numbers of the range of the tensor")


def _moe4_error(field: str, rule: str) -> _moe4.InputError:
    error = _moe4.InputError(f"{field}: {rule}")
    error.field, error.value, error.rule = field, "", rule
    return error


def _numpy_view(field: str, array: np.ndarray) -> _moe4.View:
    if not array.dtype.isnative:
        raise _moe4_error(field, f"its dtype {array.dtype} is not in the byte order of this machine")
    if array.dtype == BF16:
        return _moe4.view(field, array.view(np.uint16), "BF16")
    if array.dtype == np.uint32:  # the words of packed INT4 codes
        return _moe4.view(field, array.view(np.int32))
    if array.dtype.name == "float8_e8m0fnu":
        return _moe4.view(field, array.view(np.uint8))
    if array.dtype.kind not in "iuf" or array.dtype.name not in ("uint8", "int32", "int64", "float16", "float32",
                                                                  "float64"):
        raise _moe4_error(field, f"its dtype {array.dtype} is none of uint8, int32, int64, bfloat16, float16, "
                                 "float32, float64")
    if any(stride % array.itemsize for stride in array.strides) or not array.flags.aligned:
        raise _moe4_error(field, "its strides or its address are not those of whole elements: copy it")
    return _moe4.view(field, array)


def _torch_view(field: str, tensor: Any) -> _moe4.View:
    import torch  # type: ignore[import-not-found,unused-ignore]

    if tensor.layout != torch.strided:
        raise _moe4_error(field, f"is a {tensor.layout} tensor: only strided ones have elements to read")
    tensor = tensor.detach().cpu()
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    if str(tensor.dtype) == "torch.float8_e8m0fnu":
        tensor = tensor.view(torch.uint8)
    if tensor.dtype == torch.bfloat16:
        return _moe4.view(field, tensor.view(torch.int16).numpy(), "BF16")
    return _numpy_view(field, tensor.numpy())


def _dlpack_view(field: str, value: Any) -> _moe4.View:
    device = value.__dlpack_device__()[0] if hasattr(value, "__dlpack_device__") else 1
    if int(device) == 1:
        return _moe4.view(field, value)
    # Elsewhere: the producer copies, as the array API (2023.12) asks of it.
    exported: Any = _Exported(value.__dlpack__(dl_device=(1, 0), copy=True))
    return _moe4.view(field, exported)


class _Exported:
    """A DLPack capsule as an object that can be asked for it once."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def view(field: str, value: Any, kind: str) -> _moe4.View:
    """kind: what the numbers of a nested list are (float, id, i32, byte, word); arrays have a dtype of their own."""
    if isinstance(value, (list, tuple, int, float)):
        return _numpy_view(field, _from_list(field, value, kind))
    if isinstance(value, (np.ndarray, np.generic)):
        return _numpy_view(field, np.asarray(value))
    if _is_torch(value):
        return _torch_view(field, value)
    if hasattr(value, "__dlpack__"):
        return _dlpack_view(field, value)
    raise _moe4_error(field, f"a {type(value).__name__} is no array: NumPy, PyTorch, DLPack or a nested list")


def numpy(result: tuple[np.ndarray, str]) -> np.ndarray:
    """What the compiled part returns: the encodings, and the name of the dtype."""
    array, dtype = result
    return array.view(BF16) if dtype == "BF16" else array


def like(result: tuple[np.ndarray, str], value: Any) -> Any:
    """The result as what `value` is, on its device; a NumPy array where it is a list."""
    array = numpy(result)
    if _is_torch(value):
        return to_torch(array).to(value.device)
    space = getattr(value, "__array_namespace__", None)
    if space is None or isinstance(value, (np.ndarray, np.generic)):
        return array
    xp = space()
    if array.dtype == BF16:
        return xp.asarray(array, dtype=xp.bfloat16, device=value.device)
    return xp.asarray(array, device=value.device)


def to_torch(array: np.ndarray) -> Any:
    import torch  # type: ignore[import-not-found,unused-ignore]

    if array.dtype == BF16:
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)
