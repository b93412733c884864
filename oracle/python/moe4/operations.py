"""The operations (docs/spec/linear.md, int4.md, routing.md): the norm's bits. Inputs are never written.

Every tensor may be a NumPy array (bfloat16: that of ml_dtypes), a PyTorch tensor, anything with DLPack, or a nested
list (floats are F32). The result is what the tokens are, on their device. policy: docs/spec/corners.md, as in
"scale_nan=formula".
"""

from __future__ import annotations

from typing import Any, NamedTuple, Optional

from . import _arrays, _moe4


class Rows(NamedTuple):
    """Rows of one expert each: `written` is uint8 a row, 1 where the row has a value (RTE-3)."""

    output: Any
    written: Any


def _linear(weights: str, tokens: Any, packed: Any, scales: Any, ids: Any, mixture: Any, shared: Any,
            policy: str) -> Any:
    view = _arrays.view
    code, scale_name, scale_kind = ("byte", "scale_bytes", "byte") if weights == "mxfp4" else ("word", "scales", "float")
    result = _moe4.expert_linear(weights, view("latent_tokens", tokens, "float"), view("packed_weights", packed, code),
                                 view(scale_name, scales, scale_kind), view("selected_experts", ids, "id"),
                                 view("mixture_weights", mixture, "float"), view("shared_output", shared, "float"),
                                 policy)
    return _arrays.like(result, tokens)


def mxfp4_expert_linear(latent_tokens: Any, packed_weights: Any, scale_bytes: Any, selected_experts: Any,
                        mixture_weights: Any, shared_output: Any, *, policy: str = "") -> Any:
    """y[t,o] = shared[t,o] + sum_j p[t,j] * sum_i W[e(t,j)][o,i] * x[t,i], rounded once (LIN-1).

    latent_tokens [T,I], packed_weights uint8 [E,O,I/32,16], scale_bytes uint8 [E,O,I/32], selected_experts int [T,K],
    mixture_weights [T,K], shared_output [T,O]; the result is [T,O] in the dtype of the tokens.
    """
    return _linear("mxfp4", latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights,
                   shared_output, policy)


def int4_expert_linear(latent_tokens: Any, packed_weights: Any, scales: Any, selected_experts: Any,
                       mixture_weights: Any, shared_output: Any) -> Any:
    """The same with W = RNE_bf16((code - 8) * scale): packed_weights int32 [E,O,I/8], scales bfloat16 [E,O,I/32]."""
    return _linear("int4", latent_tokens, packed_weights, scales, selected_experts, mixture_weights, shared_output, "")


def int4_dequantize(packed_weights: Any, scales: Any) -> Any:
    """The weights [E,O,I] in BF16 (INT-4), of packed_weights int32 [E,O,I/8] and scales bfloat16 [E,O,I/32]."""
    result = _moe4.int4_values(_arrays.view("packed_weights", packed_weights, "word"),
                               _arrays.view("scales", scales, "float"))
    return _arrays.like(result, packed_weights)


def mxfp4_dequantize(packed_weights: Any, scale_bytes: Any, *, policy: str = "") -> Any:
    """The weights [E,O,I] in F64, in which every one is exact (FMT-5)."""
    result = _moe4.mxfp4_values(_arrays.view("packed_weights", packed_weights, "byte"),
                                _arrays.view("scale_bytes", scale_bytes, "byte"), policy)
    return _arrays.like(result, packed_weights)


def _weights(packed: Any, scales: Any) -> tuple[str, _moe4.View, _moe4.View]:
    """The format is told by the dtype of the codes: U8 is mxfp4, I32 is int4."""
    view = _arrays.view("packed_weights", packed, "byte")
    if view.dtype == "I32":
        return "int4", view, _arrays.view("scales", scales, "float")
    return "mxfp4", view, _arrays.view("scale_bytes", scales, "byte")


def _rows(result: tuple[Any, Any], tokens: Any) -> Rows:
    output, written = result
    return Rows(_arrays.like(output, tokens), written)


def indexed(latent_tokens: Any, packed_weights: Any, scales: Any, sorted_ids: Any, expert_ids: Any,
            num_tokens_padded: Any, *, top_k: int, block_m: int, policy: str = "") -> Rows:
    """RTE-5: rows named by sorted route ids, one expert a block. Tokens bfloat16 [M,I]; output [M*top_k,O]."""
    view = _arrays.view
    result = _moe4.indexed(*_tokens_and_weights(latent_tokens, packed_weights, scales),
                           view("sorted_ids", sorted_ids, "i32"), view("expert_ids", expert_ids, "i32"),
                           view("num_tokens_padded", num_tokens_padded, "i32"), top_k, block_m, policy)
    return _rows(result, latent_tokens)


def grouped_contiguous(latent_tokens: Any, packed_weights: Any, scales: Any, m_indices: Any, *,
                       policy: str = "") -> Rows:
    """RTE-8: each row says its expert, -1 is padding. Tokens bfloat16 [m,I]; output [m,O]."""
    result = _moe4.grouped_contiguous(*_tokens_and_weights(latent_tokens, packed_weights, scales),
                                      _arrays.view("m_indices", m_indices, "i32"), policy)
    return _rows(result, latent_tokens)


def grouped_masked(latent_tokens: Any, packed_weights: Any, scales: Any, masked_m: Any, *, expected_m: int = 1,
                   policy: str = "") -> Rows:
    """RTE-10: a block of max_m rows an expert, the first masked_m[e] in use. Tokens bfloat16 [E,max_m,I]."""
    result = _moe4.grouped_masked(*_tokens_and_weights(latent_tokens, packed_weights, scales),
                                  _arrays.view("masked_m", masked_m, "i32"), expected_m, policy)
    return _rows(result, latent_tokens)


def _tokens_and_weights(tokens: Any, packed: Any, scales: Any) -> tuple[str, _moe4.View, _moe4.View, _moe4.View]:
    weights, codes, scale_view = _weights(packed, scales)
    return weights, _arrays.view("latent_tokens", tokens, "float"), codes, scale_view


def combine(rows: Any, mixture_weights: Any, shared_output: Any, selected_experts: Optional[Any] = None, *,
            dtype: str = "bf16", policy: str = "") -> Any:
    """RTE-13: y[t] = shared[t] + sum_j p[t,j] * rows[t*K+j]; a slot with id -1 is absent. Output [T,O] in `dtype`."""
    view = _arrays.view
    ids = None if selected_experts is None else view("selected_experts", selected_experts, "id")
    result = _moe4.combine(view("rows", rows, "float"), view("mixture_weights", mixture_weights, "float"), ids,
                           view("shared_output", shared_output, "float"), dtype, policy)
    return _arrays.like(result, rows)
