"""The stated limits of layouts: what is larger or deeper is refused when the class is made."""

from typing import Final

MAX_DEPTH: Final = 64
"""Layouts nested deeper than this are refused when the class is made."""
MAX_CONSTRUCTS: Final = 1 << 14
"""Layouts of more constructs are refused; one that stands in two places counts twice."""
MAX_BITS: Final = 1 << 12
"""Integers, and whatever does not fill its bytes, are refused if they are wider."""
MAX_REGION: Final = 1 << 14
"""The most bits of a bit region."""
MAX_SCATTERED: Final = 16
"""The most integers of whole bytes in an array among bits in another order."""
MAX_CASES: Final = 1000
"""The most cases of a Switch."""
MAX_LENGTH: Final = (1 << 32) - 1
"""The greatest constant length or count of a layout."""
MAX_ARRAY_DEPTH: Final = 16
"""Arrays nested deeper than this are refused: CPython compiles at most 20 nested loops."""
MAX_EXACT: Final = 1 << 51
"""Below it every step of a scaled number is a float of its own, with room for a rounding on the way."""
ENCODINGS: Final = {"ascii": 1, "utf-8": 1, "utf-16-le": 2, "utf-16-be": 2, "utf-32-le": 4, "utf-32-be": 4}
"""The encodings of text, with the bytes of a NUL in each."""
