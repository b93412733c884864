"""The PyTorch example against the golden fixtures: what docs/examples.md says of it.   run_pytorch.py MOE4 ROOT"""
import json
import pathlib
import subprocess
import sys
import tempfile

import torch


def main(moe4, root):
    root = pathlib.Path(root)
    sys.path.insert(0, str(root / "docs" / "examples" / "pytorch"))
    import obvious
    import safetensors_torch

    golden = root / "fixtures" / "golden"
    problems, seen = [], {}
    for entry in json.loads((golden / "MANIFEST.json").read_text())["cases"]:
        if entry["status"] != "computed" or (entry["op"], entry["weights"]) != ("expert_linear", "mxfp4"):
            continue
        tensors = safetensors_torch.read(golden / entry["case"])
        dtype = tensors["latent_tokens"].dtype
        if "policy" in entry or dtype == torch.float16:
            continue
        with tempfile.TemporaryDirectory() as folder:
            result = pathlib.Path(folder) / "result.safetensors"
            safetensors_torch.write(result, obvious.mxfp4_expert_linear(**tensors))
            done = subprocess.run([moe4, "check", golden / entry["case"], result], capture_output=True, text=True)
        same = tensors["shared_output"].dtype == dtype
        seen.setdefault((dtype, same), []).append(done.returncode)
        if dtype == torch.float32 and same and done.returncode != 0:
            problems.append(f"{entry['name']}: F32 should pass\n{done.stdout}")
        if not same and "VER-2" not in done.stdout:
            problems.append(f"{entry['name']}: another dtype should be told\n{done.stdout}")
    for problem in problems:
        print(problem)
    print({f"{dtype}, shared {'alike' if same else 'another dtype'}": f"{codes.count(0)} of {len(codes)} pass"
           for (dtype, same), codes in seen.items()})
    return 1 if problems or (torch.float32, True) not in seen or (torch.float32, False) not in seen else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
