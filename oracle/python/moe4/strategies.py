"""Hypothesis strategies (the extra `test`): case lines that shrink toward few tokens, experts and groups."""

from __future__ import annotations

from typing import Any, Optional, Sequence

from hypothesis import strategies as st

from . import _moe4
from .declaration import Declaration, declaration_json

_DTYPES = ("bf16", "f16", "f32", "f64")


def _accepted(line: str, declared: Optional[str]) -> bool:
    try:
        canonical = _moe4.canonical_line(line)
        if declared is not None and _moe4.refusal(declared, canonical) is not None:
            return False
        _moe4.draw_case(canonical)
    except _moe4.InputError:
        return False
    return True


def case_lines(*, declare: Optional[Declaration] = None, max_tokens: int = 9, max_experts: int = 8,
               max_in: int = 256, max_out: int = 40, fills: Optional[Sequence[str]] = None,
               routings: Optional[Sequence[str]] = None, **fixed: Any) -> st.SearchStrategy[str]:
    """Canonical lines of cases that can be drawn, and that the declaration accepts. fixed: keys with one value."""
    declared = None if declare is None else declaration_json(declare)

    @st.composite
    def draw_line(draw: st.DrawFn) -> str:
        keys: dict[str, Any] = {"op": "expert_linear", "weights": "mxfp4"}
        experts = draw(st.integers(1, max_experts))
        keys.update(tokens=draw(st.integers(1, max_tokens)), experts=experts,
                    top_k=draw(st.integers(1, min(experts, 4))))
        keys["in"] = 32 * draw(st.integers(1, max(max_in // 32, 1)))
        keys["out"] = draw(st.integers(1, max_out))
        keys["dtype"] = draw(st.sampled_from(_DTYPES))
        keys["fill"] = draw(st.sampled_from(list(fills or _moe4.fills())))
        keys["routing"] = draw(st.sampled_from(list(routings or _moe4.routings())))
        keys["seed"] = draw(st.integers(1, 2**32))
        keys.update(fixed)
        return " ".join(f"{key}={value}" for key, value in keys.items())

    return draw_line().filter(lambda line: _accepted(line, declared)).map(_moe4.canonical_line)
