"""The serving contracts, the builders, the layouts."""
import ml_dtypes
import moe4
import numpy as np
import pytest
from conftest import same_bits
from layer import layer

BF16 = ml_dtypes.bfloat16


def per_route(tensors, weights):
    """Each route's row by the statement's function: one token, one expert, weight 1, no shared output."""
    function = moe4.mxfp4_expert_linear if weights == "mxfp4" else moe4.int4_expert_linear
    scales = tensors["scale_bytes" if weights == "mxfp4" else "scales"]
    ids = tensors["selected_experts"]
    outs = tensors["packed_weights"].shape[1]
    tokens = np.repeat(tensors["latent_tokens"], ids.shape[1], axis=0)
    return function(tokens, tensors["packed_weights"], scales, ids.reshape(-1, 1), np.ones((ids.size, 1), np.float32),
                    np.zeros((ids.size, outs), BF16)), scales


@pytest.mark.parametrize("weights", ["mxfp4", "int4"])
def test_one_layer_by_every_contract(weights):
    tensors = layer(weights, tokens=7, experts=4, width=64, outs=6, top_k=2, seed=11)
    due, scales = per_route(tensors, weights)
    tokens, packed, ids = tensors["latent_tokens"], tensors["packed_weights"], tensors["selected_experts"]

    aligned = moe4.routing.align_blocks(ids, experts=4, block_m=8)
    rows = moe4.indexed(tokens, packed, scales, *aligned, top_k=2, block_m=8)
    assert rows.written.tolist() == [1] * 14 and same_bits(rows.output, due)

    placed = moe4.routing.contiguous_rows(ids, experts=4, alignment=16)
    rows = moe4.grouped_contiguous(moe4.routing.gather_rows(tokens, 2, placed.route_of_row), packed, scales,
                                   placed.m_indices)
    assert (rows.written == (placed.m_indices >= 0)).all()
    assert same_bits(moe4.routing.in_route_order(rows.output, placed.row_of_route), due)

    placed = moe4.routing.masked_rows(ids, experts=4, max_m=16)
    blocks = moe4.routing.gather_rows(tokens, 2, placed.route_of_row).reshape(4, 16, 64)
    rows = moe4.grouped_masked(blocks, packed, scales, placed.masked_m)
    assert rows.output.shape == (4, 16, 6) and rows.written.sum() == 14
    assert same_bits(moe4.routing.in_route_order(rows.output, placed.row_of_route), due)

    combined = moe4.combine(due, tensors["mixture_weights"], tensors["shared_output"], dtype="f32")
    p = tensors["mixture_weights"].astype(np.float64)[..., None]
    exact = tensors["shared_output"].astype(np.float64) + (p * due.astype(np.float64).reshape(7, 2, 6)).sum(1)
    assert combined.dtype == np.float32 and np.array_equal(combined, exact.astype(np.float32))


def test_absent_slots():
    rows = np.array([[1, 2], [np.nan, np.nan]], dtype=BF16)
    y = moe4.combine(rows, [[0.5, np.nan]], [[4.0, 8.0]], [[0, -1]])
    assert y.dtype == BF16 and y.tolist() == [[4.5, 9.0]]


def test_expert_map_and_refusals():
    assert moe4.routing.expert_map(6, 2, 3).tolist() == [-1, -1, 0, 1, 2, -1]
    with pytest.raises(moe4.InputError, match="count"):
        moe4.routing.expert_map(6, 2, 5)
    with pytest.raises(moe4.InputError, match="block_m"):
        moe4.routing.align_blocks([[0]], 1, 0)
    with pytest.raises(moe4.InputError, match="max_m"):
        moe4.routing.masked_rows([[0], [0]], 1, 1)
    tensors = layer()
    with pytest.raises(moe4.InputError, match="RTE-7"):
        moe4.indexed(tensors["latent_tokens"], tensors["packed_weights"], tensors["scale_bytes"], [0, 0], [0], 2,
                     top_k=1, block_m=8)


def test_int4_dequantize():
    """q = code - 8 first, then one rounding; the word's unsigned form is taken too."""
    words = [[[0x76543210, 0xFEDCBA98, 0x88888888, 0x99999999]]]
    weights = moe4.int4_dequantize(words, np.array([[[0.5]]], BF16))
    assert weights.dtype == BF16 and weights.shape == (1, 1, 32)
    assert weights[0, 0].tolist() == [(c - 8) / 2 for c in range(16)] + [0.0] * 8 + [0.5] * 8
    third = np.array([[[1 / 3]]], BF16)
    due = [np.float64(c - 8) * np.float64(third[0, 0, 0]) for c in range(16)]
    assert moe4.int4_dequantize(words, third)[0, 0, :16].tolist() == np.array(due).astype(BF16).tolist()
    with pytest.raises(moe4.InputError, match="VAL-4"):
        moe4.int4_dequantize(words, np.zeros((1, 1, 2), BF16))


@pytest.mark.parametrize("layout", moe4.layouts.describe(), ids=lambda layout: layout["name"])
def test_layouts_keep_every_bit(layout):
    tensors = layer(layout["weights"], experts=2, outs=128, width=256, seed=12)
    scales = tensors["scale_bytes" if layout["weights"] == "mxfp4" else "scales"]
    codes, packed_scales = moe4.layouts.pack(layout["name"], tensors["packed_weights"], scales)
    back = moe4.layouts.unpack(layout["name"], codes, packed_scales)
    assert same_bits(back[0], tensors["packed_weights"]) and same_bits(back[1], scales)
    if layout["name"] not in ("row_major", "compressed_tensors"):
        assert codes.tobytes() != tensors["packed_weights"].tobytes()


def test_unknown_layout():
    with pytest.raises(moe4.InputError, match="gguf"):
        moe4.layouts.pack("ggyf", np.zeros((1, 1, 1, 16), np.uint8), np.zeros((1, 1, 1), np.uint8))
