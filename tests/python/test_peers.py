"""Other projects as witnesses, without any tolerance."""
import json
import pathlib

import ml_dtypes
import moe4
import numpy as np


def decoded(codes, scale):
    """Codes [n] under one scale byte, by moe4."""
    packed = np.zeros((1, len(codes), 1, 16), np.uint8)
    packed[0, :, 0, 0] = codes
    scales = np.full((1, len(codes), 1), scale, np.uint8)
    return moe4.mxfp4_dequantize(packed, scales)[0, :, 0]


def test_float4_e2m1fn():
    codes = np.arange(16, dtype=np.uint8)
    peer = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    ours = decoded(codes, 127)
    assert np.array_equal(ours, peer) and np.array_equal(np.signbit(ours), np.signbit(peer))


def test_float8_e8m0fnu():
    """All 256 bytes, 255 = NaN among them (scale_nan=ocp); under scale_nan=formula and inf we differ there, by policy."""
    scales = np.arange(256, dtype=np.uint8)
    peer = scales.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    packed = np.full((1, 256, 1, 16), 0x22, np.uint8)
    ours = moe4.mxfp4_dequantize(packed, scales.reshape(1, 256, 1))[0, :, 0]
    assert np.array_equal(ours, peer, equal_nan=True) and np.flatnonzero(np.isnan(ours)).tolist() == [255]
    formula = moe4.mxfp4_dequantize(packed, scales.reshape(1, 256, 1), policy="scale_nan=formula")[0, :, 0]
    assert np.flatnonzero(formula != peer).tolist() == [255] and formula[255] == 2.0**128
    flushed = moe4.mxfp4_dequantize(packed, scales.reshape(1, 256, 1), policy="scale_zero=flush")[0, :, 0]
    assert np.flatnonzero((flushed != peer) & (scales != 255)).tolist() == [0] and flushed[0] == 0


def test_every_pair():
    """The product of both peers, exact in F64, for all 16 * 256 pairs."""
    codes = np.arange(16, dtype=np.uint8)
    element = codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)
    for scale in range(256):
        factor = np.uint8(scale).reshape(1).view(ml_dtypes.float8_e8m0fnu).astype(np.float64)[0]
        assert np.array_equal(decoded(codes, scale), element * factor, equal_nan=True), scale


def test_bfloat16_rounding():
    """INT-4's one rounding is ml_dtypes' rounding of the exact product, for every code and many scales."""
    words = np.array([[[0x76543210, 0xFEDCBA98, 0, 0]]], np.uint32)
    bits = np.concatenate([np.arange(0, 0x10000, 251), [0, 0x8000, 1, 0x7F7F, 0x7F80, 0xFF80, 0x3F80]]).astype(np.uint16)
    for scale in bits.view(ml_dtypes.bfloat16):
        with np.errstate(all="ignore"):
            due = ((np.arange(16) - 8) * np.float64(scale)).astype(ml_dtypes.bfloat16)
        ours = moe4.int4_dequantize(words, np.full((1, 1, 1), scale))[0, 0, :16]
        finite = ~np.isnan(due)
        assert np.array_equal(np.isnan(ours), ~finite) and np.array_equal(ours[finite], due[finite])


def recorded():
    """compressed-tensors as record_compressed_tensors.py found it; test_compressed_tensors.py finds it again."""
    return json.loads((pathlib.Path(__file__).parent / "compressed_tensors.json").read_text())


def test_compressed_tensors_int4():
    """Their unpacking of 4-bit words is q of our weights: scale 1 keeps q as it is."""
    peer = recorded()
    words = np.array(peer["int4_words"], np.int32).reshape(1, 4, 8)
    ours = moe4.int4_dequantize(words, np.ones((1, 4, 2), ml_dtypes.bfloat16))
    assert np.array_equal(ours[0].astype(np.int64), np.array(peer["int4_values"]))
    assert not np.array_equal(ours[0, 0].astype(np.int64), np.array(peer["int4_values"][1]))


def test_compressed_tensors_mxfp4():
    """Every byte of codes, signs of zeros too; every scale byte. Byte 255 is Inf there: our scale_nan=inf."""
    peer = recorded()
    packed = np.array(peer["fp4_bytes"], np.uint8).reshape(1, 8, 2, 16)
    ours = moe4.mxfp4_dequantize(packed, np.full((1, 8, 2), 127, np.uint8))[0]
    theirs = np.array(peer["fp4_values"])
    assert np.array_equal(ours, theirs) and np.array_equal(np.signbit(ours), np.signbit(theirs))
    scales = np.array([int(bits, 16) for bits in peer["e8m0_as_bf16"]], np.uint16).view(ml_dtypes.bfloat16)
    ones = np.full((1, 256, 1, 16), 0x22, np.uint8)
    ours = moe4.mxfp4_dequantize(ones, np.arange(256, dtype=np.uint8).reshape(1, 256, 1), policy="scale_nan=inf")
    assert np.array_equal(ours[0, :, 0], scales.astype(np.float64))
