"""Builders of what the serving contracts read (docs/spec/routing.md, RTE-32 to RTE-34)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from . import _arrays, _moe4


class Aligned(NamedTuple):
    sorted_ids: np.ndarray  # int32 [n]: route ids token*K + slot, sentinels behind those of each expert
    expert_ids: np.ndarray  # int32 [n/block_m]
    num_tokens_padded: int  # n


class Contiguous(NamedTuple):
    m_indices: np.ndarray  # int32 [m], -1: padding
    row_of_route: np.ndarray  # int64 [T*K], -1: nowhere
    route_of_row: np.ndarray  # int64 [m], -1: nothing


class Masked(NamedTuple):
    masked_m: np.ndarray  # int32 [E]
    row_of_route: np.ndarray  # int64 [T*K]; rows e*max_m + r
    route_of_row: np.ndarray  # int64 [E*max_m]


def _ids(selected_experts: Any) -> _moe4.View:
    return _arrays.view("selected_experts", selected_experts, "id")


def align_blocks(selected_experts: Any, experts: int, block_m: int) -> Aligned:
    """RTE-33: the routes sorted by expert, each expert padded to whole blocks, for `indexed`."""
    return Aligned(*_moe4.align_blocks(_ids(selected_experts), experts, block_m))


def contiguous_rows(selected_experts: Any, experts: int, alignment: int = 128) -> Contiguous:
    """RTE-34: rows grouped by expert in one buffer, every run on a multiple of `alignment`."""
    m_indices, maps = _moe4.contiguous_rows(_ids(selected_experts), experts, alignment)
    return Contiguous(m_indices, *maps)


def masked_rows(selected_experts: Any, experts: int, max_m: int) -> Masked:
    """RTE-34: one block of max_m rows an expert."""
    masked_m, maps = _moe4.masked_rows(_ids(selected_experts), experts, max_m)
    return Masked(masked_m, *maps)


def expert_map(experts: int, first: int, count: int) -> np.ndarray:
    """RTE-32: global ids to the local ones of a rank with experts first..first+count-1, -1 elsewhere."""
    return np.asarray(_moe4.expert_map(experts, first, count))


def gather_rows(latent_tokens: np.ndarray, top_k: int, route_of_row: np.ndarray) -> np.ndarray:
    """Tokens [T,I] laid out as [rows,I] by a map of the builders, padding zero."""
    tokens = np.asarray(latent_tokens)
    rows = np.zeros((len(route_of_row), tokens.shape[1]), tokens.dtype)
    used = route_of_row >= 0
    rows[used] = tokens[route_of_row[used] // top_k]
    return rows


def in_route_order(output: np.ndarray, row_of_route: np.ndarray) -> np.ndarray:
    """Rows of an output, of any leading shape, as [T*K,O] for `combine`; routes that lie nowhere are zero."""
    flat = np.asarray(output).reshape(-1, np.asarray(output).shape[-1])
    rows = np.zeros((len(row_of_route), flat.shape[1]), flat.dtype)
    used = row_of_route >= 0
    rows[used] = flat[row_of_route[used]]
    return rows
