#!/usr/bin/env python3
"""Compiles the Triton kernels of this file to the PTX beside it; no GPU is needed.

    python3 -m venv venv && venv/bin/pip install triton==3.9.0 && venv/bin/python generate.py

Each kernel is expert_linear (docs/spec/linear.md) over MXFP4 or INT4 weights, written as one would write it in Triton:
the executor has to take what another compiler makes of it. `*.json` declares how each is launched.
"""
import os
import pathlib

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # no paths of the machine in the text
os.environ["TRITON_DEFAULT_FP_FUSION"] = "0"

import triton  # noqa: E402
import triton.language as tl  # noqa: E402
from triton.backends.compiler import GPUTarget  # noqa: E402
from triton.compiler import ASTSource  # noqa: E402


@triton.jit
def weight_of(code, scale_byte):
    """E2M1 code and E8M0 scale byte as FP32, for scale bytes 1 to 254."""
    exponent = (code & 7) >> 1
    mantissa = code & 1
    subnormal = tl.where(mantissa == 1, 0x3F000000, 0)
    bits = tl.where(exponent == 0, subnormal, ((exponent + 126) << 23) | (mantissa << 22))
    code_value = (bits | ((code & 8) << 28)).to(tl.float32, bitcast=True)
    return code_value * (scale_byte << 23).to(tl.float32, bitcast=True)


@triton.jit
def mxfp4_dot(tokens, codes, scales, ids, mixture, shared, output, I, O, K, BYTES: tl.constexpr):
    """A program makes one output by products and tl.sum: no tensor core."""
    t = tl.program_id(0)
    o = tl.program_id(1)
    total = tl.load(shared + t * O + o).to(tl.float32)
    for j in range(0, K):
        row = tl.load(ids + t * K + j).to(tl.int64) * O + o
        dot = 0.0
        for start in range(0, I // 2, BYTES):
            byte = start + tl.arange(0, BYTES)
            inside = byte < I // 2
            pair = tl.load(codes + row * (I // 2) + byte, mask=inside, other=0).to(tl.int32)
            scale = tl.load(scales + row * (I // 32) + byte // 16, mask=inside, other=127).to(tl.int32)
            low = tl.load(tokens + t * I + 2 * byte, mask=inside, other=0.0).to(tl.float32)
            high = tl.load(tokens + t * I + 2 * byte + 1, mask=inside, other=0.0).to(tl.float32)
            dot += tl.sum(weight_of(pair & 15, scale) * low + weight_of(pair >> 4, scale) * high, axis=0)
        total += tl.load(mixture + t * K + j) * dot
    tl.store(output + t * O + o, total.to(tl.bfloat16))


@triton.jit
def mxfp4_matmul(tokens, codes, scales, ids, mixture, shared, output, T, I, O, K, ROWS: tl.constexpr,
                 OUTPUTS: tl.constexpr, INPUTS: tl.constexpr):
    """A program takes one token and a block of outputs. tl.dot over a block of ROWS tokens, all rows but the
    first masked; weights are decoded to BF16."""
    t = tl.program_id(0)
    o = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    m = tl.arange(0, ROWS)
    total = tl.load(shared + t * O + o[None, :] + 0 * m[:, None],
                    mask=(m[:, None] == 0) & (o[None, :] < O), other=0.0).to(tl.float32)
    for j in range(0, K):
        row = tl.load(ids + t * K + j).to(tl.int64) * O + o
        dot = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
        for start in range(0, I, INPUTS):
            i = start + tl.arange(0, INPUTS)
            x = tl.load(tokens + t * I + i[None, :] + 0 * m[:, None],
                        mask=(m[:, None] == 0) & (i[None, :] < I), other=0.0)
            inside = (i[:, None] < I) & (o[None, :] < O)
            pair = tl.load(codes + row[None, :] * (I // 2) + i[:, None] // 2, mask=inside, other=0).to(tl.int32)
            scale = tl.load(scales + row[None, :] * (I // 32) + i[:, None] // 32, mask=inside,
                            other=127).to(tl.int32)
            w = weight_of((pair >> (4 * (i[:, None] % 2))) & 15, scale).to(tl.bfloat16)
            dot = tl.dot(x, w, dot)
        total += tl.load(mixture + t * K + j) * dot
    tl.store(output + t * O + o[None, :] + 0 * m[:, None], total.to(tl.bfloat16),
             mask=(m[:, None] == 0) & (o[None, :] < O))


@triton.jit
def mxfp4_dot_scaled(tokens, codes, scales, ids, mixture, shared, output, T, I, O, K, ROWS: tl.constexpr,
                     OUTPUTS: tl.constexpr, INPUTS: tl.constexpr):
    """The same by tl.dot_scaled: BF16 tokens times packed MXFP4 weights and their scales."""
    t = tl.program_id(0)
    o = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    m = tl.arange(0, ROWS)
    total = tl.load(shared + t * O + o[None, :] + 0 * m[:, None],
                    mask=(m[:, None] == 0) & (o[None, :] < O), other=0.0).to(tl.float32)
    for j in range(0, K):
        row = tl.load(ids + t * K + j).to(tl.int64) * O + o
        dot = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
        for start in range(0, I, INPUTS):
            i = start + tl.arange(0, INPUTS)
            x = tl.load(tokens + t * I + i[None, :] + 0 * m[:, None],
                        mask=(m[:, None] == 0) & (i[None, :] < I), other=0.0)
            byte = start // 2 + tl.arange(0, INPUTS // 2)
            w = tl.load(codes + row[None, :] * (I // 2) + byte[:, None],
                        mask=(byte[:, None] < I // 2) & (o[None, :] < O), other=0)
            group = start // 32 + tl.arange(0, INPUTS // 32)
            s = tl.load(scales + row[:, None] * (I // 32) + group[None, :],
                        mask=(group[None, :] < I // 32) & (o[:, None] < O), other=127)
            dot = tl.dot_scaled(x, None, "bf16", w, s, "e2m1", dot)
        total += tl.load(mixture + t * K + j) * dot
    tl.store(output + t * O + o[None, :] + 0 * m[:, None], total.to(tl.bfloat16),
             mask=(m[:, None] == 0) & (o[None, :] < O))


@triton.jit
def int4_matmul(tokens, codes, scales, ids, mixture, shared, output, T, I, O, K, ROWS: tl.constexpr,
                OUTPUTS: tl.constexpr, INPUTS: tl.constexpr):
    """mxfp4_matmul with INT4 weights (docs/spec/int4.md): eight elements a word, stored q + 8; the weight is
    q times its BF16 scale, rounded to BF16."""
    t = tl.program_id(0)
    o = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    m = tl.arange(0, ROWS)
    total = tl.load(shared + t * O + o[None, :] + 0 * m[:, None],
                    mask=(m[:, None] == 0) & (o[None, :] < O), other=0.0).to(tl.float32)
    for j in range(0, K):
        row = tl.load(ids + t * K + j).to(tl.int64) * O + o
        dot = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
        for start in range(0, I, INPUTS):
            i = start + tl.arange(0, INPUTS)
            x = tl.load(tokens + t * I + i[None, :] + 0 * m[:, None],
                        mask=(m[:, None] == 0) & (i[None, :] < I), other=0.0)
            inside = (i[:, None] < I) & (o[None, :] < O)
            word = tl.load(codes + row[None, :] * (I // 8) + i[:, None] // 8, mask=inside, other=0)
            scale = tl.load(scales + row[None, :] * (I // 32) + i[:, None] // 32, mask=inside, other=0.0)
            q = ((word >> (4 * (i[:, None] % 8))) & 15) - 8
            w = (q.to(tl.float32) * scale.to(tl.float32)).to(tl.bfloat16)
            dot = tl.dot(x, w, dot)
        total += tl.load(mixture + t * K + j) * dot
    tl.store(output + t * O + o[None, :] + 0 * m[:, None], total.to(tl.bfloat16),
             mask=(m[:, None] == 0) & (o[None, :] < O))


POINTERS = {"tokens": "*bf16", "codes": "*u8", "scales": "*u8", "ids": "*i32", "mixture": "*fp32",
            "shared": "*bf16", "output": "*bf16"}


INT4 = {"codes": "*i32", "scales": "*bf16"}


def build(kernel, sizes, constants, capability, pointers={}):
    signature = POINTERS | pointers | {size: "i32" for size in sizes} | {name: "constexpr" for name in constants}
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    compiled = triton.compile(source, target=GPUTarget("cuda", capability, 32), options={"num_warps": 4})
    name = f"{kernel.__name__}_sm{capability}.ptx"
    text = "\n".join(line.rstrip() for line in compiled.asm["ptx"].splitlines()) + "\n"
    (pathlib.Path(__file__).parent / name).write_text(text)
    print(f"{name}: {compiled.metadata.shared} bytes of shared memory, {len(text)} bytes of text")


if __name__ == "__main__":
    tile = {"ROWS": 16, "OUTPUTS": 32, "INPUTS": 64}
    for capability in (80, 90):
        build(mxfp4_dot, ["I", "O", "K"], {"BYTES": 128}, capability)
        build(mxfp4_matmul, ["T", "I", "O", "K"], tile, capability)
        build(mxfp4_dot_scaled, ["T", "I", "O", "K"], tile, capability)
        build(int4_matmul, ["T", "I", "O", "K"], tile, capability, INT4)
