"""DLPack, devices, threads."""
import threading

import ml_dtypes
import moe4
import numpy as np
import pytest
from conftest import same_bits
from layer import layer


def test_anything_with_dlpack(only_dlpack):
    tensors = layer(dtype=np.float32, seed=4)
    due = moe4.mxfp4_expert_linear(**tensors)
    wrapped = {name: only_dlpack(array) for name, array in tensors.items()}
    assert same_bits(moe4.mxfp4_expert_linear(**wrapped), due)


def test_device_memory_is_copied_and_not_read(only_dlpack):
    tensors = layer(dtype=np.float32, seed=4)
    due = moe4.mxfp4_expert_linear(**tensors)
    tensors["latent_tokens"] = only_dlpack(tensors["latent_tokens"], device=(2, 0))
    assert same_bits(moe4.mxfp4_expert_linear(**tensors), due)
    assert tensors["latent_tokens"].copies == 1


def test_cpu_memory_is_not_copied():
    """A view of the caller's array sees what the caller writes."""
    from moe4 import _arrays, _moe4

    packed = layer()["packed_weights"]
    scales = layer()["scale_bytes"]
    views = _arrays.view("packed_weights", packed, "byte"), _arrays.view("scale_bytes", scales, "byte")
    before = _arrays.numpy(_moe4.mxfp4_values(*views, ""))
    packed[...] ^= 0x77
    assert not same_bits(before, _arrays.numpy(_moe4.mxfp4_values(*views, "")))


def test_e8m0_arrays():
    tensors = layer(seed=5)
    due = moe4.mxfp4_expert_linear(**tensors)
    tensors["scale_bytes"] = tensors["scale_bytes"].view(ml_dtypes.float8_e8m0fnu)
    assert same_bits(moe4.mxfp4_expert_linear(**tensors), due)


def test_concurrent_calls():
    """Threads share inputs; every one gets the bits of a call alone, refusals among them."""
    tensors = layer(tokens=8, experts=6, width=512, outs=40, seed=8)
    due = moe4.mxfp4_expert_linear(**tensors)
    line = moe4.cases("smoke", op="expert_linear")[0]
    problems = []

    def work(number):
        try:
            for _ in range(10):
                if not same_bits(moe4.mxfp4_expert_linear(**tensors), due):
                    problems.append("other bits")
                case = moe4.case(line)
                moe4.check(case, case.norm()[0]).assert_passes()
                with pytest.raises(moe4.InputError):
                    moe4.mxfp4_expert_linear(**{**tensors, "scale_bytes": tensors["scale_bytes"][:1]})
        except BaseException as error:  # noqa: BLE001: a thread's failure is told to the test
            problems.append(repr(error))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_the_gil_is_released():
    """Another thread makes progress while one call computes."""
    tensors = layer(tokens=64, experts=4, width=2048, outs=512, dtype=np.float64, seed=9)
    ticks, stop = [], threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(None)
            stop.wait(0.0005)

    thread = threading.Thread(target=tick)
    thread.start()
    before = len(ticks)
    moe4.mxfp4_expert_linear(**tensors)
    during = len(ticks) - before
    stop.set()
    thread.join()
    assert during >= 3
