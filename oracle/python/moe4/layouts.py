"""Weights into and out of the layouts that kernels read (docs/spec/layouts.md). Codes and scales keep every bit."""

from __future__ import annotations

from typing import Any, Optional

from . import _arrays, _moe4


def names() -> list[str]:
    """The layouts, as in `moe4 layout list`."""
    return [layout["name"] for layout in _moe4.layouts()]


def describe() -> list[dict[str, Any]]:
    """name, weights (mxfp4 or int4), description, out_multiple, in_multiple of each."""
    return list(_moe4.layouts())


def repack(source: str, target: str, codes: Any, scales: Optional[Any] = None) -> tuple[Any, Optional[Any]]:
    """(codes, scales) in another layout; scales is None where they lie among the codes."""
    view = _arrays.view("packed_weights", codes, "byte")
    scale_view = None if scales is None else _arrays.view("scales", scales, "float" if view.dtype == "I32" else "byte")
    made, made_scales = _moe4.repack(source, target, view, scale_view)
    return _arrays.like(made, codes), None if made_scales is None else _arrays.like(made_scales, codes)


def pack(layout: str, packed_weights: Any, scales: Any) -> tuple[Any, Optional[Any]]:
    """From the tensors of a case (row_major, compressed_tensors) to `layout`."""
    return repack("", layout, packed_weights, scales)


def unpack(layout: str, codes: Any, scales: Optional[Any] = None) -> tuple[Any, Any]:
    """From `layout` to the tensors of a case."""
    return repack(layout, "", codes, scales)
