"""The tensor types of ggml: names by number, and the bytes that a block of elements takes.

Numbers and names: ggml/include/ggml.h; blocks: ggml/src/ggml-common.h, as gguf-py's
GGML_QUANT_SIZES lists them (llama.cpp, MIT).
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Kind(NamedTuple):
    """A tensor type: `elements` share a block of `bytes`."""

    name: str
    elements: int
    bytes: int


KINDS: Final = {
    0: Kind("F32", 1, 4),
    1: Kind("F16", 1, 2),
    2: Kind("Q4_0", 32, 18),
    3: Kind("Q4_1", 32, 20),
    6: Kind("Q5_0", 32, 22),
    7: Kind("Q5_1", 32, 24),
    8: Kind("Q8_0", 32, 34),
    9: Kind("Q8_1", 32, 40),
    10: Kind("Q2_K", 256, 84),
    11: Kind("Q3_K", 256, 110),
    12: Kind("Q4_K", 256, 144),
    13: Kind("Q5_K", 256, 176),
    14: Kind("Q6_K", 256, 210),
    15: Kind("Q8_K", 256, 292),
    16: Kind("IQ2_XXS", 256, 66),
    17: Kind("IQ2_XS", 256, 74),
    18: Kind("IQ3_XXS", 256, 98),
    19: Kind("IQ1_S", 256, 50),
    20: Kind("IQ4_NL", 32, 18),
    21: Kind("IQ3_S", 256, 110),
    22: Kind("IQ2_S", 256, 82),
    23: Kind("IQ4_XS", 256, 136),
    24: Kind("I8", 1, 1),
    25: Kind("I16", 1, 2),
    26: Kind("I32", 1, 4),
    27: Kind("I64", 1, 8),
    28: Kind("F64", 1, 8),
    29: Kind("IQ1_M", 256, 56),
    30: Kind("BF16", 1, 2),
    34: Kind("TQ1_0", 256, 54),
    35: Kind("TQ2_0", 256, 66),
    39: Kind("MXFP4", 32, 17),
    40: Kind("NVFP4", 64, 36),
    41: Kind("Q1_0", 128, 18),
}

REFUSED: Final = {
    4: "Q4_2 was removed from ggml",
    5: "Q4_3 was removed from ggml",
    **dict.fromkeys((31, 32, 33, 36, 37, 38), "repacked types were removed from GGUF files"),
    42: "Q2_0 has blocks of 64 in llama.cpp and of 128 in a fork that writes the same number",
}
"""Why a number that is known is not read."""
