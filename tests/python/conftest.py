import pathlib
import sys

import hypothesis
import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "examples"))

# The default run repeats itself.
hypothesis.settings.register_profile("moe4", derandomize=True, deadline=None, max_examples=40, database=None)
hypothesis.settings.load_profile("moe4")


def same_bits(a, b):
    """Equal dtype, shape and encodings."""
    a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class OnlyDlpack:
    """An array of which nothing is known but DLPack; device (2, 0) plays a GPU that copies on request."""

    def __init__(self, array, device=(1, 0)):
        self._array, self._device, self.copies = array, device, 0

    def __dlpack_device__(self):
        return self._device

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if self._device != (1, 0):
            assert dl_device == (1, 0) and copy, "a CPU copy has to be asked for"
            self.copies += 1
        return self._array.__dlpack__()


@pytest.fixture
def only_dlpack():
    return OnlyDlpack
