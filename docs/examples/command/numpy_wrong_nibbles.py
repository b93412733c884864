"""numpy_subject.py with one fault, for moe4 to find: the high nibble of an MXFP4 byte comes first."""
import sys

import numpy_subject

numpy_subject.NIBBLES = (4, 0)

if __name__ == "__main__":
    numpy_subject.main(*sys.argv[1:])
