"""Golden fixtures against a function that computes their encodings: what exact_numpy.py and exact_contracts.py share."""
import math
import pathlib

import numpy as np

from command.numpy_subject import read  # safetensors: metadata, arrays, names of dtypes


def rows_of(parts, axes=1):
    """Arrays of two axes each: the leading ones are the rows."""
    return [part.reshape(math.prod(part.shape[:axes]), math.prod(part.shape[axes:])) for part in parts]


def check(folder, operations):
    """operations: name -> function of (metadata, tensors, dtypes, policy, the output's dtype), which returns {row: encodings}."""
    cases = outputs = wrong = 0
    for path in sorted(pathlib.Path(folder).glob("*.case.safetensors")):
        meta, tensors, dtypes = read(path)
        recorded_path = path.with_name(path.name.replace(".case.", ".result."))
        if meta["moe4.op"] not in operations or not recorded_path.exists():  # without a result: the norm refuses the case
            continue
        _, recorded, result_dtypes = read(recorded_path)
        (bits,) = rows_of([recorded["output"].view(f"u{recorded['output'].itemsize}")], recorded["output"].ndim - 1)
        policy = dict(word.split("=") for word in meta.get("moe4.policy", "").split())
        cases += 1
        for row, due in operations[meta["moe4.op"]](meta, tensors, dtypes, policy, result_dtypes["output"]).items():
            outputs, differing = outputs + len(due), np.flatnonzero(bits[row] != due)
            wrong += len(differing)
            for o in differing[:1]:
                print(f"{path.name} [{row},{o}]: recorded {bits[row, o]:#x}, here {due[o]:#x}")
    print(f"{'FAILED' if wrong or not outputs else 'PASSED'}: {outputs} outputs of {cases} cases, {wrong} differ")
    return 1 if wrong or not outputs else 0
