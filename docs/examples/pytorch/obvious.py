"""The statement's function in PyTorch, written the obvious way: decode, matmul, weight, add.

    moe4 gate --command 'python3 docs/examples/pytorch/obvious.py {cases} {results}' --declare docs/examples/pytorch/obvious.json
"""
import sys

import torch

import safetensors_torch

E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def mxfp4_expert_linear(latent_tokens, packed_weights, scale_bytes, selected_experts, mixture_weights, shared_output):
    low, high = packed_weights & 15, packed_weights >> 4
    codes = torch.stack([low, high], dim=-1).flatten(-2)
    scales = torch.pow(2.0, scale_bytes.float() - 127)
    weights = (E2M1[codes.long()] * scales.unsqueeze(-1)).flatten(-2).to(latent_tokens.dtype)
    output = shared_output.clone()
    for t, experts in enumerate(selected_experts.tolist()):
        for slot, expert in enumerate(experts):
            output[t] += mixture_weights[t, slot] * (weights[expert] @ latent_tokens[t])
    return output


if __name__ == "__main__":
    safetensors_torch.serve(mxfp4_expert_linear, *sys.argv[1:])
