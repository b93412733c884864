"""check, judge, cases: the healthy pass, the faulty are told."""
import os
import subprocess

import ml_dtypes
import moe4
import numpy as np
import pytest
from command.numpy_subject import read
from conftest import ROOT, same_bits

LINE = ("op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=exact8 "
        "routing=duplicate seed=0x2a")
DECLARE = {"op": "expert_linear", "weights": "mxfp4", "dtypes": ["bf16", "f16", "f32"], "profile": "once", "order": "seq"}


def healthy(**tensors):
    return moe4.mxfp4_expert_linear(**tensors)


def swapped_nibbles(packed_weights, **tensors):
    return moe4.mxfp4_expert_linear(packed_weights=packed_weights << 4 | packed_weights >> 4, **tensors)


def test_check_passes_the_norm():
    case = moe4.case(LINE)
    assert case.line == LINE and case.op == "expert_linear"
    verdict = moe4.check(case, case.norm()[0])
    assert verdict.passed and verdict and verdict.outputs == 24 and str(verdict).startswith("PASSED: 24 outputs")
    assert "PASSED" in verdict._repr_html_()
    verdict.assert_passes()


def test_check_tells_a_wrong_bit():
    case = moe4.case(LINE)
    wrong = case.norm()[0].copy()
    wrong.view(np.uint16)[1, 2] ^= 1
    verdict = moe4.check(case, wrong, order="seq")
    assert not verdict.passed and verdict.status == "FAILED" and verdict.mismatched == 1
    assert verdict.worst[0]["row"] == 1 and verdict.worst[0]["out"] == 2
    text = str(verdict)
    replay = f"moe4.check(moe4.case({LINE!r}), actual, order='seq')"
    assert text.startswith(replay) and text.rstrip().endswith(replay)
    assert "&lt;" in moe4.Verdict({"status": "FAILED"}, "<b>")._repr_html_()
    with pytest.raises(AssertionError, match="VER-3"):
        verdict.assert_passes()
    with pytest.raises(moe4.InputError, match="profile"):
        moe4.check(case, wrong, profile="lat")


def test_check_says_what_the_command_says(tmp_path):
    case = moe4.case(LINE)
    case.save(tmp_path / "case.safetensors")
    again = moe4.load(tmp_path / "case.safetensors")
    assert again.line == LINE and all(same_bits(again.tensors[k], v) for k, v in case.tensors.items())
    command = os.environ.get("MOE4_COMMAND")
    if command is None:
        pytest.skip("MOE4_COMMAND names no command")
    path = tmp_path / "out.safetensors"
    subprocess.run([command, "reference", tmp_path / "case.safetensors", "--out", path], check=True)
    said = subprocess.run([command, "check", tmp_path / "case.safetensors", path], check=True, capture_output=True, text=True)
    assert said.stdout == str(moe4.check(again, again.norm()[0]))


def test_rows_and_written():
    lines = moe4.cases("smoke", op="grouped_contiguous")
    case = moe4.case(lines[0])
    output, written = case.norm()
    moe4.check(case, moe4.Rows(output, written)).assert_passes()
    counted = np.flatnonzero(written)
    written[counted[0]] = 0
    assert not moe4.check(case, output, written=written).passed


def test_golden_fixtures():
    """Every recorded result is the norm's, to the bit."""
    folder, judged = ROOT / "fixtures" / "golden", 0
    for path in sorted(folder.glob("*.case.safetensors")):
        result = path.with_name(path.name.replace(".case.", ".result."))
        if not result.exists():
            with pytest.raises(moe4.InputError):
                moe4.load(path)
            continue
        case = moe4.load(path)
        _, stored, dtypes = read(result)
        bits = stored["output"]
        recorded = bits.view(ml_dtypes.bfloat16) if dtypes["output"] == "BF16" else bits
        assert same_bits(case.norm()[0], recorded), path.name
        judged += 1
    assert judged >= 50


def test_judge_passes_a_healthy_function():
    lines = moe4.cases("smoke", declare=DECLARE)
    report = moe4.judge(healthy, lines, declare=DECLARE)
    report.assert_passes()
    assert report.passed and len(report.results) == len(lines) and "PASSED" in str(report)
    assert "<pre" in report._repr_html_()


def test_judge_by_a_tier_has_its_floors():
    """The smoke tier on a function that takes one dtype only: green, with the coverage the tier asks for."""
    declare = {**DECLARE, "dtypes": ["bf16"]}
    report = moe4.judge(healthy, "smoke", declare=declare)
    report.assert_passes()
    assert report.subject["coverage"]["pairs"] >= 2560


def test_judge_tells_faults():
    lines = moe4.cases("smoke", declare=DECLARE)[:6]
    report = moe4.judge(swapped_nibbles, lines, declare=DECLARE)
    assert report.exit_code == 1 and "FAILED" in str(report)
    assert f"moe4.judge(swapped_nibbles, ['{lines[2]}'], declare=...)" in str(report)
    with pytest.raises(AssertionError, match="FAILED"):
        report.assert_passes()

    def changes_its_input(latent_tokens, **tensors):
        y = moe4.mxfp4_expert_linear(latent_tokens, **tensors)
        latent_tokens += 1
        return y

    assert moe4.judge(changes_its_input, lines[2:3], declare=DECLARE).exit_code == 1

    def raises(**tensors):
        raise RuntimeError("out of shared memory")

    report = moe4.judge(raises, lines[2:3], declare=DECLARE)
    assert report.exit_code == 4 and "out of shared memory" in str(report)

    def interrupted(**tensors):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        moe4.judge(interrupted, lines[2:3], declare=DECLARE)


def test_nothing_that_ran_is_no_pass():
    declare = {**DECLARE, "dtypes": ["f64"]}
    report = moe4.judge(healthy, [LINE], declare=declare)
    assert not report.passed and report.exit_code == 3
    with pytest.raises(moe4.InputError, match="dtypez"):
        moe4.judge(healthy, [LINE], declare={**DECLARE, "dtypez": []})


def test_judge_rows():
    declare = {"op": ["indexed", "grouped_contiguous", "grouped_masked"], "weights": ["mxfp4", "int4"],
               "dtypes": ["bf16"], "profile": "once", "order": "seq"}

    def rows(latent_tokens, packed_weights, scale_bytes=None, scales=None, **routing):
        scales = scales if scale_bytes is None else scale_bytes
        function = moe4.indexed if "sorted_ids" in routing else \
            moe4.grouped_masked if "masked_m" in routing else moe4.grouped_contiguous
        return function(latent_tokens, packed_weights, scales, **routing)

    lines = moe4.cases("smoke", declare=declare)
    assert {line.split()[0] for line in lines} == {"op=indexed", "op=grouped_contiguous", "op=grouped_masked"}
    moe4.judge(rows, lines, declare=declare).assert_passes()


@pytest.mark.parametrize("line", moe4.cases("smoke", declare=DECLARE)[:4])
def test_cases_as_parameters(line):
    case = moe4.case(line)
    moe4.check(case, healthy(**case.tensors), order="seq").assert_passes()


def test_cases():
    ci = moe4.cases("ci")
    assert len(ci) > len(moe4.cases("smoke", op="expert_linear")) > 0
    assert moe4.cases([LINE]) == [LINE] == moe4.cases(LINE)
    with pytest.raises(moe4.InputError):
        moe4.cases(["op=nothing"])
    assert moe4.cases(ROOT / "fixtures" / "lists" / "smoke.cases")
