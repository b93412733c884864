"""Verdicts (docs/spec/verdict.md): of a result that is there, and of a callable over a list of cases."""

from __future__ import annotations

import html
import json
import os
import re
from typing import Any, Callable, Iterable, Mapping, Optional, Union

import numpy as np

from . import _arrays, _moe4
from .cases import Case, case, cases, load
from .declaration import Declaration, declaration_json


class Verdict:
    """The judgement of one result. str() is the report; the fields are those of docs/cli.md, "JSON"."""

    def __init__(self, fields: Mapping[str, Any], report: str) -> None:
        self.fields = dict(fields)
        self._report = report

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["fields"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def passed(self) -> bool:
        return bool(self.fields["status"] == "PASSED")

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        if not self.passed:
            return self._report
        return (f"PASSED: {self.outputs} outputs by {self.rule}\n"
                f"bits were due for {100 * self.singleton_share:.1f} % of them; "
                f"largest distance from the norm {self.max_ulp or 0:g} ulp\n")

    def __repr__(self) -> str:
        return f"<moe4 verdict {self.status}: {self.reason or self.rule}>"

    def _repr_html_(self) -> str:
        return _html(self.status, str(self))

    def assert_passes(self) -> None:
        """AssertionError with the whole report unless PASSED."""
        if not self.passed:
            raise AssertionError("\n" + str(self))


class Report:
    """The judgement of a callable over cases: a gate of one subject, in this process (docs/cli.md, "The gate")."""

    def __init__(self, exit_code: int, fields: Mapping[str, Any], text: str) -> None:
        self.exit_code = exit_code
        self.fields = dict(fields)
        self._text = text

    @property
    def passed(self) -> bool:
        return self.exit_code == 0

    @property
    def subject(self) -> dict[str, Any]:
        subject: dict[str, Any] = self.fields["subjects"][0]
        return subject

    @property
    def results(self) -> list[dict[str, Any]]:
        """One a case: status, rule, reason, case, counts."""
        results: list[dict[str, Any]] = self.subject["results"]
        return results

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<moe4 report {self.subject['status']} of {self.fields['cases']} cases, exit code {self.exit_code}>"

    def _repr_html_(self) -> str:
        return _html(self.subject["status"], str(self))

    def assert_passes(self) -> None:
        """AssertionError with the whole report unless everything passed and something ran."""
        if not self.passed:
            raise AssertionError("\n" + str(self))


def _html(status: str, text: str) -> str:
    colour = "#1a7f37" if status == "PASSED" else "#cf222e"
    return (f'<div><b style="color:{colour}">{html.escape(status)}</b>'
            f'<pre style="margin-top:0.3em">{html.escape(text)}</pre></div>')


def check(of: Union[Case, str, "os.PathLike[str]"], actual: Any, *, written: Optional[Any] = None,
          declare: Optional[Declaration] = None, **arithmetic: str) -> Verdict:
    """Judges a result as `moe4 check` does.

    of: a Case, a case line, or the path of a case file. actual: the output, or a Rows. arithmetic: profile=, order=,
    accumulation=, products=, ftz=, weight=, dequant= (docs/spec/profiles.md); or all of it by a declaration.
    """
    subject = of if isinstance(of, Case) else case(of) if isinstance(of, str) and "=" in of else load(of)
    if isinstance(actual, tuple) and len(actual) == 2:
        actual, written = actual
    if declare is not None and arithmetic:
        raise TypeError("check takes a declaration or single words, not both")
    words = {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in arithmetic.items()}
    options = "".join(f", {key}={value!r}" for key, value in arithmetic.items())
    text = declaration_json(declare) if declare is not None else ""
    verdict, report = _moe4.check(subject._data, _arrays.view("output", actual, "float"),
                                  None if written is None else _arrays.view("written", written, "byte"), text, words,
                                  f"moe4.check({subject!r}, actual{options})")
    return Verdict(json.loads(verdict), report)


def judge(function: Callable[..., Any], lines: Union[str, "os.PathLike[str]", Iterable[str]] = "smoke", *,
          declare: Declaration, arrays: str = "numpy", seed: int = 0, seconds: float = 0) -> Report:
    """Runs a Python function as a subject, in this process.

    function gets the tensors of a case by name (docs/spec/case_file.md), `top_k` and the like with them, and returns
    the output or (output, written). lines: a tier's name brings the tier's floors with it; other lists have none.
    arrays: "numpy" or "torch". seconds: no case starts later; 0 is no limit. An exception makes its case CRASHED.
    """
    if arrays not in ("numpy", "torch"):
        raise ValueError(f"arrays is numpy or torch, not {arrays!r}")
    name = getattr(function, "__name__", type(function).__name__)
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
    declared = _moe4.full_declaration(declaration_json(declare, name))
    tier = lines if isinstance(lines, str) and lines in ("smoke", "ci", "nightly") else ""

    def run(tensors: Mapping[str, Any], numbers: Mapping[str, int]) -> tuple[Any, Any]:
        inputs: dict[str, Any] = {key: _arrays.numpy(pair) for key, pair in tensors.items()}
        if arrays == "torch":
            inputs = {key: _arrays.to_torch(value) for key, value in inputs.items()}
        result = function(**inputs, **numbers)
        written = None
        if isinstance(result, tuple):
            result, written = result
        return (_arrays.view("output", result, "float"),
                None if written is None else _arrays.view("written", np.asarray(written, dtype=np.uint8), "byte"))

    code, fields, table, failures, summary = _moe4.gate(run, cases(lines), declared, tier, seed, seconds)
    text = "\n".join(part for part in (table, failures, summary) if part)
    text = re.sub(r"moe4 run '?(op=[^'\n]*?)'? --python \S+",
                  lambda found: f"moe4.judge({name}, [{found.group(1)!r}], declare=...)", text)
    return Report(code, json.loads(fields), text)
