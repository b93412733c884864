"""The Hypothesis strategy draws what can be drawn, and shrinks."""
import moe4
import numpy as np
import pytest
from hypothesis import find, given, settings
from moe4.strategies import case_lines


@settings(max_examples=25)
@given(case_lines(declare={"op": "expert_linear", "weights": "mxfp4", "dtypes": ["bf16", "f32"], "profile": "once"}))
def test_drawn_cases_pass(line):
    case = moe4.case(line)
    assert case.line == line and case.tensors["latent_tokens"].dtype.name in ("bfloat16", "float32")
    verdict = moe4.check(case, moe4.mxfp4_expert_linear(**case.tensors, policy=case.policy))
    assert verdict.status in ("PASSED", "MISTRUSTED"), str(verdict)


def test_a_failure_shrinks_to_little():
    """A kernel that loses every second group fails at two groups; what is found is about that small."""

    def loses_second_groups(line):
        case = moe4.case(line)
        tensors = dict(case.tensors)
        tensors["latent_tokens"] = tensors["latent_tokens"].copy()
        tensors["latent_tokens"].reshape(len(tensors["latent_tokens"]), -1, 32)[:, 1::2] = 0
        return moe4.check(case, moe4.mxfp4_expert_linear(**tensors)).status == "FAILED"

    line = find(case_lines(fills=["exact24"], routings=["uniform"]), loses_second_groups,
                settings=settings(max_examples=200, derandomize=True, database=None))
    keys = dict(word.split("=", 1) for word in line.split())
    assert (keys["tokens"], keys["experts"], keys["in"], keys["out"]) == ("1", "1", "64", "1")
    with pytest.raises(moe4.InputError):
        moe4.case(line.replace("in=64", "in=65"))
    assert np.isfinite(moe4.case(line).norm()[0].astype(np.float64)).all()
