"""The statement's function."""
import shutil

import exact_numpy
import golden_check
import ml_dtypes
import moe4
import numpy as np
import pytest
from conftest import ROOT, same_bits
from layer import integers, layer

DTYPES = [ml_dtypes.bfloat16, np.float16, np.float32, np.float64]


def block(high, rising):
    """16 bytes: codes 0..15 low, rising or falling, and one code in all high nibbles."""
    return [high << 4 | (j if rising else 15 - j) for j in range(16)]


def test_first_example_in_nested_lists():
    y = moe4.mxfp4_expert_linear([[1] * 32], [[[[34] * 16]]], [[[127]]], [[0]], [[1]], [[0]])
    assert y.dtype == np.float32 and y.tolist() == [[32.0]]


@pytest.mark.parametrize("dtype, due", [(np.float32, 15408.5), (np.float64, 15408.5), (ml_dtypes.bfloat16, 15424.0),
                                        (np.float16, 15408.0)])
def test_second_example(dtype, due):
    tokens = np.arange(200, 232).reshape(1, 32).astype(dtype)
    packed = [[[block(5, True)]], [[block(6, False)]]]
    y = moe4.mxfp4_expert_linear(tokens, packed, [[[129]], [[126]]], [[1, 0]], [[0.75, 0.25]], [[36.5]])
    assert y.dtype == dtype and y.shape == (1, 1) and float(y[0, 0]) == due


@pytest.mark.parametrize("dtype, due", [(np.float32, [3029.75, -2932.0]), (ml_dtypes.bfloat16, [3024.0, -2928.0])])
def test_third_example(dtype, due):
    tokens = (64.5 + np.arange(64)).reshape(1, 64).astype(dtype)
    packed = [[[block(1, True), block(2, False)], [block(3, True), block(4, False)]],
              [[block(5, True), block(6, False)], [block(9, True), block(10, False)]]]
    scales = [[[123, 131], [129, 126]], [[128, 124], [130, 125]]]
    y = moe4.mxfp4_expert_linear(tokens, packed, scales, [[1]], [[0.375]], [[-3.25, 5.75]])
    assert [float(v) for v in y[0]] == due


@pytest.mark.parametrize("weights", ["mxfp4", "int4"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_against_integers(weights, dtype):
    """Every output equals that of a model in Python's integers (docs/examples/exact_numpy.py)."""
    tensors = layer(weights, dtype=dtype, seed=7)
    function = moe4.mxfp4_expert_linear if weights == "mxfp4" else moe4.int4_expert_linear
    y = function(*tensors.values())
    assert integers(tensors) == y.view(f"u{y.itemsize}").tolist() and y.size > 0
    broken = {**tensors, "packed_weights": np.roll(tensors["packed_weights"], 1, axis=-1)}
    assert integers(broken) != y.view(f"u{y.itemsize}").tolist()


def test_the_integers_see_one_bit(tmp_path, capsys):
    """The third check of the golden fixtures fails where one bit of one of them is another."""
    names = [f"fill_real_mxfp4.{kind}.safetensors" for kind in ("case", "result")]
    for name in names:
        shutil.copy(ROOT / "fixtures" / "golden" / name, tmp_path)
    operations = {"expert_linear": exact_numpy.expert_linear}
    assert golden_check.check(tmp_path, operations) == 0
    stored = bytearray((tmp_path / names[1]).read_bytes())
    stored[-1] ^= 1
    (tmp_path / names[1]).write_bytes(stored)
    assert golden_check.check(tmp_path, operations) == 1 and "1 differ" in capsys.readouterr().out
    assert golden_check.check(tmp_path, {}) == 1, "nothing compared is no pass"


def test_inputs_are_not_touched():
    tensors = layer(seed=1)
    before = {name: array.tobytes() for name, array in tensors.items()}
    for array in tensors.values():
        array.setflags(write=False)
    moe4.mxfp4_expert_linear(**tensors)
    assert before == {name: array.tobytes() for name, array in tensors.items()}


@pytest.mark.parametrize("name", list(layer()))
def test_strided_inputs(name):
    """A tensor that is a slice of a wider, poisoned buffer, in reverse, gives the same bits."""
    tensors = layer(seed=2)
    due = moe4.mxfp4_expert_linear(**tensors)
    array = tensors[name]
    wide = np.full(tuple(3 * n for n in array.shape), 7, dtype=array.dtype)
    slices = tuple(slice(3 * n - 1, None, -3) for n in array.shape)
    wide[slices] = array
    tensors[name] = wide[slices]
    assert not tensors[name].flags.c_contiguous
    assert same_bits(moe4.mxfp4_expert_linear(**tensors), due)
    broadcast = layer(seed=2)
    broadcast["mixture_weights"] = np.broadcast_to(np.float32(0.5), (3, 2))
    full = {**broadcast, "mixture_weights": np.full((3, 2), 0.5, np.float32)}
    assert same_bits(moe4.mxfp4_expert_linear(**broadcast), moe4.mxfp4_expert_linear(**full))


def test_policies():
    tensors = layer(seed=3)
    tensors["scale_bytes"][...] = 255
    assert np.isnan(moe4.mxfp4_expert_linear(**tensors).astype(np.float32)).all()
    assert not np.isnan(moe4.mxfp4_expert_linear(**tensors, policy="scale_nan=formula").astype(np.float32)).any()
    with pytest.raises(moe4.InputError, match="scale_nan"):
        moe4.mxfp4_expert_linear(**tensors, policy="scale_nan=maybe")


@pytest.mark.parametrize("name, value, text", [
    ("latent_tokens", np.zeros((3, 63), np.float32), "VAL-3"),
    ("latent_tokens", np.zeros((3, 64), np.int32), "VAL-2"),
    ("scale_bytes", np.zeros((4, 5, 3), np.uint8), "VAL-4"),
    ("selected_experts", np.full((3, 2), 9, np.int32), "selected_experts"),
    ("mixture_weights", np.zeros((3, 2), np.complex64), "complex64"),
    ("mixture_weights", np.zeros((3, 2), ">f4"), "byte order"),
    ("packed_weights", "no array", "a str is no array"),
    ("packed_weights", [[[[300] * 16]]], "range"),
    ("shared_output", [[1.0], [2.0, 3.0]], "nested list"),
])
def test_refusals(name, value, text):
    tensors = layer()
    tensors[name] = value
    with pytest.raises(moe4.InputError, match=text) as caught:
        moe4.mxfp4_expert_linear(**tensors)
    assert isinstance(caught.value, ValueError) and caught.value.field == name
    assert caught.value.rule in str(caught.value)


def test_misaligned_strides_are_refused():
    tensors = layer(dtype=np.float32)
    table = np.zeros(3 * 64, dtype=[("pad", "u1"), ("x", "f4")])
    tensors["latent_tokens"] = table["x"].reshape(3, 64)
    with pytest.raises(moe4.InputError, match="whole elements"):
        moe4.mxfp4_expert_linear(**tensors)


def test_empty_dimensions():
    tensors = layer(tokens=0)
    assert moe4.mxfp4_expert_linear(**tensors).shape == (0, 5)
    tensors = layer(top_k=0)
    assert same_bits(moe4.mxfp4_expert_linear(**tensors), tensors["shared_output"])
