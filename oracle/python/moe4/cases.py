"""Cases: one line of text each (docs/spec/case_line.md), or a file (docs/spec/case_file.md)."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Union

import numpy as np

from . import _arrays, _moe4
from .declaration import Declaration, declaration_json


class Case:
    """The tensors of a case, and the norm's result. Made by `case` or `load`."""

    def __init__(self, data: _moe4.CaseData, path: Optional[str] = None) -> None:
        self._data = data
        self._path = path

    @property
    def line(self) -> Optional[str]:
        """The canonical case line; None for a file without one."""
        return self._data.line

    @property
    def op(self) -> str:
        return self._data.op

    @property
    def weights(self) -> str:
        return self._data.weights

    @property
    def policy(self) -> str:
        return self._data.policy

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """By the names of docs/spec/case_file.md; read-only, not copied."""
        return {name: _arrays.numpy(pair) for name, pair in self._data.tensors().items()}

    @property
    def numbers(self) -> dict[str, int]:
        """top_k and block_m (indexed), expected_m (grouped_masked)."""
        return dict(self._data.numbers())

    def norm(self) -> tuple[np.ndarray, np.ndarray]:
        """(output, written): the norm; written is uint8 a row, empty where every row is written."""
        output, written = self._data.norm()
        return _arrays.numpy(output), written

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        self._data.save(os.fspath(path))

    def __repr__(self) -> str:
        return f"moe4.case({self.line!r})" if self._path is None else f"moe4.load({self._path!r})"


def case(line: str) -> Case:
    """The case that a line draws: the same numbers on every machine."""
    return Case(_moe4.draw_case(line))


def load(path: Union[str, os.PathLike[str]], policy: str = "") -> Case:
    """A case file; `policy` over the file's own."""
    return Case(_moe4.load_case(os.fspath(path), policy.split()), os.fspath(path))


def cases(source: Union[str, os.PathLike[str], Iterable[str]] = "smoke", *,
          declare: Optional[Declaration] = None, **keys: Any) -> list[str]:
    """Case lines, for pytest.mark.parametrize: of a tier (smoke, ci, nightly), a list file, or lines.

    declare: only what this declaration accepts. Any other key must stand in the line with this value (op="indexed").
    """
    if isinstance(source, str) and source in ("smoke", "ci", "nightly"):
        lines = _moe4.tier_lines(source)
    elif isinstance(source, (str, os.PathLike)):
        if isinstance(source, str) and "=" in source:
            lines = [_moe4.canonical_line(source)]
        else:
            with open(source, encoding="utf-8") as file:
                lines = _moe4.list_lines(file.read())
    else:
        lines = [_moe4.canonical_line(line) for line in source]
    for key, value in keys.items():
        lines = [line for line in lines if f"{key}={value}" in line.split()]
    if declare is not None:
        declared = declaration_json(declare)
        lines = [line for line in lines if _moe4.refusal(declared, line) is None]
    return lines
