"""exact_numpy.py for the serving contracts: indexed, grouped_contiguous, grouped_masked and combine.

    python3 docs/examples/exact_contracts.py fixtures/golden"""
import sys

from exact_numpy import decode, encoded, mixed, times, total, weights
from golden_check import check, rows_of


def routed(routes, t, dtypes, policy, dtype):  # routes: (row of the output, expert, row of the tokens)
    x = rows_of(decode(t["latent_tokens"], dtypes["latent_tokens"]), t["latent_tokens"].ndim - 1)
    return {row: encoded(*total(times(weights(t, policy, expert), [part[token] for part in x])), 2, dtype)
            for row, expert, token in routes}


def indexed(meta, t, *rest):  # RTE-5
    top_k, block = int(meta["moe4.top_k"]), int(meta["moe4.block_m"])
    ids = t["sorted_ids"][: int(t["num_tokens_padded"].flat[0])]
    rows = len(t["latent_tokens"]) * top_k
    return routed([(v, t["expert_ids"][r // block], v // top_k) for r, v in enumerate(ids) if v < rows], t, *rest)


def grouped_contiguous(meta, t, *rest):  # RTE-8
    return routed([(r, e, r) for r, e in enumerate(t["m_indices"]) if e >= 0], t, *rest)


def grouped_masked(meta, t, *rest):  # RTE-10
    max_m = t["latent_tokens"].shape[1]
    return routed([(e * max_m + r, e, e * max_m + r) for e, used in enumerate(t["masked_m"]) for r in range(used)], t, *rest)


def combine(meta, t, dtypes, *rest):  # RTE-13
    n, s = decode(t["rows"], dtypes["rows"])
    return mixed([(n[r] << 1200, s[r]) for r in range(len(n))], t, dtypes, *rest)


if __name__ == "__main__":
    operations = (indexed, grouped_contiguous, grouped_masked, combine)
    sys.exit(check(sys.argv[1], {function.__name__: function for function in operations}))
