"""moe4: the bit-exact reference and the judge for 4-bit mixture-of-experts kernels (docs/python.md)."""

from . import layouts, routing
from ._moe4 import InputError
from .cases import Case, case, cases, load
from .operations import (Rows, combine, grouped_contiguous, grouped_masked, indexed, int4_dequantize,
                         int4_expert_linear, mxfp4_dequantize, mxfp4_expert_linear)
from .verdict import Report, Verdict, check, judge

__all__ = ["Case", "InputError", "Report", "Rows", "Verdict", "case", "cases", "check", "combine",
           "grouped_contiguous", "grouped_masked", "indexed", "int4_dequantize", "int4_expert_linear", "judge",
           "layouts", "load", "mxfp4_dequantize", "mxfp4_expert_linear", "routing"]
