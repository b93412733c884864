"""The types that the package ships: those of the compiled part are those it has, and a type checker sees them."""
import ast
import importlib.resources
import re
import subprocess
import sys

import pytest
from moe4 import _moe4


@pytest.fixture(scope="session")
def mypy(tmp_path_factory):
    """What it says; one cache for all, which halves the time."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", str(tmp_path_factory.mktemp("mypy"))]

    def run(*arguments, cwd):
        done = subprocess.run([*command, *arguments], cwd=cwd, capture_output=True, text=True)
        return done.stdout + done.stderr

    return run


def stub():
    """{name: parameters} of the functions, {class: its names}, of _moe4.pyi as it is installed."""
    tree = ast.parse((importlib.resources.files("moe4") / "_moe4.pyi").read_text())
    functions = {node.name: [a.arg for a in node.args.posonlyargs + node.args.args + node.args.kwonlyargs]
                 for node in tree.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name: {part.name if isinstance(part, ast.FunctionDef) else part.target.id for part in node.body
                           if isinstance(part, (ast.FunctionDef, ast.AnnAssign))}
               for node in tree.body if isinstance(node, ast.ClassDef)}
    return functions, classes


def compiled_parameters(function):
    """Of the one signature that the compiled part itself tells."""
    ((text, *_),) = function.__nb_signature__
    return re.findall(r"(\w+): ", text.split(" -> ")[0].replace("\\", ""))


def test_the_stub_is_that_of_the_compiled_part():
    functions, classes = stub()
    public = {name: value for name, value in vars(_moe4).items() if not name.startswith("_")}
    assert {*functions, *classes} == set(public)
    for name, parameters in functions.items():
        assert parameters == compiled_parameters(public[name]), name
    for name in ("View", "CaseData"):
        assert classes[name] == {part for part in vars(public[name]) if not part.startswith("_")}
    assert len(functions) >= 20


def test_the_package_keeps_its_own_types(mypy, tmp_path):
    assert mypy("--disallow-untyped-defs", "--warn-return-any", "-p", "moe4", cwd=tmp_path).strip() == ""


USER = """\
import moe4
import numpy as np

y = moe4.mxfp4_expert_linear([[1] * 32], [[[[34] * 16]]], [[[127]]], [[0]], [[1]], [[0]], policy="scale_nan=formula")
case: moe4.Case = moe4.case("op=combine")
rows: moe4.Rows = moe4.indexed(y, y, y, y, y, y, top_k=2, block_m=8)
verdict: moe4.Verdict = moe4.check(case, y, profile="late")
report: moe4.Report = moe4.judge(moe4.combine, "smoke", declare={"op": "combine"})
lines: list[str] = moe4.cases("ci", op="indexed")
output, written = case.norm()
placed: np.ndarray = moe4.routing.masked_rows([[0]], 1, 1).masked_m
try:
    moe4.load("none")
except moe4.InputError as error:
    print(error.field, error.rule)
"""


def test_a_strict_user_is_satisfied(mypy, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    assert mypy("--strict", "user.py", cwd=tmp_path).strip() == ""


@pytest.mark.parametrize("right, wrong, said", [
    ('"scale_nan=formula"', "3", '"policy"'),
    ("lines: list[str]", "lines: list[int]", "list[str]"),
    ("top_k=2, ", "", '"top_k"'),
    ('profile="late"', "profile=late", '"late"'),
    ("error.field", "error.fields", '"fields"'),
    ("moe4.load(", "moe4.read(", '"read"'),
    ("masked_m\n", "masked\n", '"masked"'),
])
def test_a_wrong_user_is_told(mypy, tmp_path, right, wrong, said):
    assert USER.count(right) == 1
    (tmp_path / "user.py").write_text(USER.replace(right, wrong))
    told = mypy("--strict", "user.py", cwd=tmp_path)
    assert "user.py:" in told and said in told, told
