"""A rotation as one index and three integers ("smallest three"), the same bits everywhere.

The arithmetic is part of the wire format: IEEE-754 binary32, round to nearest even, one rounding an
operation, in the order written here. The scalar functions are plain Python; the array functions want
numpy and give the same bits, row by row. docs/quaternion.md has the steps for other languages, the
proofs and the error bounds. Quaternions are (x, y, z, w); packets are (index, a, b, c), of 16 bits a
component unless `bits` says otherwise. Of the packets that stand for one rotation, near ties, one is
canonical: with `canonical` no other is made or taken, so that encoding again changes nothing.
Imports wirelock.errors, and numpy inside the array functions only.
"""

from wirelock.quaternion.arrays import (
    canonical_array,
    decode_array,
    decode_columns,
    encode_array,
    reachable_array,
)
from wirelock.quaternion.scalar import (
    ANGLE_TOLERANCE_DEGREES,
    BITS,
    LEAST_SQUARED_LENGTH,
    LIMIT,
    REACHABLE_LIMIT,
    REACHABLE_SLACK,
    SCALE,
    Width,
    angle_between,
    angle_bound,
    canonical,
    decode,
    encode,
    is_canonical,
    reachable,
    width,
)

__all__ = [
    "ANGLE_TOLERANCE_DEGREES", "BITS", "LEAST_SQUARED_LENGTH", "LIMIT", "REACHABLE_LIMIT", "REACHABLE_SLACK",
    "SCALE", "Width", "angle_between", "angle_bound", "canonical", "canonical_array", "decode",
    "decode_array", "decode_columns", "encode", "encode_array", "is_canonical", "reachable",
    "reachable_array", "width",
]  # fmt: skip
