"""compressed-tensors of PyPI as a witness, live: its own functions on our packed weights, where there is a PyTorch.

test_peers.py compares what they answer with what we decode, everywhere, from the recording; here it is made again.
MOE4_PEER is the folder in which python.sh has installed the package, without what it depends on.
"""
import json
import math
import os
import pathlib

import pytest

pytest.importorskip("torch")
from record_compressed_tensors import recording  # noqa: E402


def flat(value):
    """Numbers of nested lists with the signs of their zeros."""
    return [part for item in value for part in flat(item)] if isinstance(value, list) else \
        [(value, math.copysign(1, value))] if isinstance(value, float) else [value]


def test_the_recording_is_what_the_package_answers():
    if "MOE4_PEER" not in os.environ:
        pytest.skip("MOE4_PEER names no folder with compressed-tensors")
    recorded = json.loads((pathlib.Path(__file__).parent / "compressed_tensors.json").read_text())
    made = recording(os.environ["MOE4_PEER"])
    assert made.keys() == recorded.keys() and made["version"] == recorded["version"]
    for name in recorded.keys() - {"torch"}:
        assert flat(made[name]) == flat(recorded[name]), name
    assert len(flat(made["int4_values"])) == 256 and len(flat(made["fp4_values"])) == 512
