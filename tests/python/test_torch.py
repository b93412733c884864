"""PyTorch: tensors in and out, and a function of PyTorch as a subject."""
import sys

import ml_dtypes
import moe4
import numpy as np
import pytest
import torch
from conftest import ROOT, same_bits
from layer import layer

sys.path.insert(0, str(ROOT / "docs" / "examples" / "pytorch"))
import obvious  # noqa: E402

TORCH = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32, "float64": torch.float64}


def tensors_of(arrays):
    return {name: torch.from_numpy(array.view(np.int16)).view(torch.bfloat16) if array.dtype == ml_dtypes.bfloat16
            else torch.from_numpy(array) for name, array in arrays.items()}


def array_of(tensor):
    return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16) if tensor.dtype == torch.bfloat16 else tensor.numpy()


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16, np.float32, np.float64])
@pytest.mark.parametrize("weights", ["mxfp4", "int4"])
def test_tensors_in_and_out(weights, dtype):
    arrays = layer(weights, dtype=dtype, seed=6)
    function = moe4.mxfp4_expert_linear if weights == "mxfp4" else moe4.int4_expert_linear
    y = function(**tensors_of(arrays))
    assert isinstance(y, torch.Tensor) and y.dtype == TORCH[np.dtype(dtype).name] and y.device.type == "cpu"
    assert same_bits(array_of(y), function(**arrays))


def test_inputs_are_not_touched_and_gradients_not_needed():
    tensors = tensors_of(layer(seed=6))
    tensors["shared_output"].requires_grad_(True)
    before = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    y = moe4.mxfp4_expert_linear(**tensors)
    assert not y.requires_grad and all(torch.equal(before[name], tensor) for name, tensor in tensors.items())


def test_cpu_memory_is_not_copied():
    """A view of a tensor sees what its owner writes, BF16 too."""
    from moe4 import _arrays, _moe4

    tensors = tensors_of(layer("int4", seed=6))
    views = _arrays.view("packed_weights", tensors["packed_weights"], "word"), _arrays.view("scales", tensors["scales"], "float")
    seen = [_arrays.numpy(_moe4.int4_values(*views)).tobytes()]
    for change in (tensors["scales"].neg_, lambda: tensors["packed_weights"].bitwise_xor_(0x11111111)):
        change()
        seen.append(_arrays.numpy(_moe4.int4_values(*views)).tobytes())
    assert len(set(seen)) == 3


@pytest.mark.parametrize("name", list(layer()))
def test_strided_tensors(name):
    arrays = layer(seed=2)
    due, tensors = moe4.mxfp4_expert_linear(**arrays), tensors_of(arrays)
    tensor = tensors[name]
    wide = torch.full([3 * n for n in tensor.shape], 7, dtype=tensor.dtype)
    for axis in range(tensor.dim()):
        wide = wide.transpose(axis, -1)[..., 1::3].transpose(axis, -1)
    tensors[name] = wide.copy_(tensor)
    assert not tensors[name].is_contiguous()
    assert same_bits(array_of(moe4.mxfp4_expert_linear(**tensors)), due)


def test_what_is_refused():
    tensors = tensors_of(layer(dtype=np.float32))
    with pytest.raises(moe4.InputError, match="latent_tokens.*strided"):
        moe4.mxfp4_expert_linear(**{**tensors, "latent_tokens": tensors["latent_tokens"].to_sparse()})
    with pytest.raises(moe4.InputError, match="mixture_weights.*complex"):
        moe4.mxfp4_expert_linear(**{**tensors, "mixture_weights": tensors["mixture_weights"].to(torch.complex64)})


def test_negated_views():
    """What PyTorch has not computed yet: the negative bit of a view."""
    tensors = tensors_of(layer(dtype=np.float32, seed=3))
    tensors["latent_tokens"] = torch.complex(tensors["latent_tokens"], -tensors["latent_tokens"]).conj().imag
    assert tensors["latent_tokens"].is_neg()
    plain = {**tensors, "latent_tokens": tensors["latent_tokens"].resolve_neg().clone()}
    assert torch.equal(moe4.mxfp4_expert_linear(**tensors), moe4.mxfp4_expert_linear(**plain))


def test_tensors_by_dlpack_alone():
    """The same memory through DLPack, as a library sees it that knows nothing of PyTorch."""

    class Anonymous:
        def __init__(self, tensor):
            self._tensor = tensor

        def __dlpack__(self, **_):
            return self._tensor.__dlpack__()

        def __dlpack_device__(self):
            return self._tensor.__dlpack_device__()

    arrays = layer(seed=4)
    wrapped = {name: Anonymous(tensor) for name, tensor in tensors_of(arrays).items()}
    assert same_bits(np.asarray(moe4.mxfp4_expert_linear(**wrapped)), moe4.mxfp4_expert_linear(**arrays))


def test_results_can_be_checked():
    case = moe4.case("op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=bf16 fill=exact8 seed=0x2a")
    y = torch.from_numpy(case.norm()[0].view(np.int16).copy()).view(torch.bfloat16)
    moe4.check(case, y).assert_passes()
    assert moe4.check(case, y.float()).rule.startswith("VER-2")
    y[1, 2] += 1
    assert moe4.check(case, y).mismatched == 1


def test_the_obvious_function_as_a_subject():
    """Right for F32 on weights that stay finite in FP32; outside of that the oracle says which fault it is."""
    declare = {"op": "expert_linear", "weights": "mxfp4", "dtypes": ["f32"], "profile": "once", "order": "any"}
    lines = [f"op=expert_linear weights=mxfp4 tokens=3 experts=4 top_k=2 in=96 out=8 dtype=f32 fill={fill} seed=0x7"
             for fill in ("exact8", "exact24", "real")]
    moe4.judge(obvious.mxfp4_expert_linear, lines, declare=declare, arrays="torch").assert_passes()
    largest = [lines[0].replace("fill=exact8", "fill=bits scales=window(253,254)").replace("in=96", "in=32")]
    report = moe4.judge(obvious.mxfp4_expert_linear, largest, declare=declare, arrays="torch")
    assert report.exit_code == 1 and "weights_overflow_in_bf16" in str(report)
    with pytest.raises(ValueError, match="arrays"):
        moe4.judge(obvious.mxfp4_expert_linear, lines, declare=declare, arrays="tensorflow")
