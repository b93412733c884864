"""Seconds of PyTorch's FP32 products alone: for each expert, x [rows, I] times the transpose of w [O, I].

    torch_product.py EXPERTS ROWS I O      prints one number, or fails if PyTorch is not installed
"""
import sys
import time

import torch

experts, rows, width, out = (int(text) for text in sys.argv[1:])
w = torch.randn(out, width)
x = torch.randn(rows, width)
torch.nn.functional.linear(x, w)
start = time.perf_counter()
for _ in range(experts):
    torch.nn.functional.linear(x, w)
print(time.perf_counter() - start)
