"""Codecs in other languages: a registry's layouts -> source text that gives the same bytes and verdicts."""

from typing import Final, Literal, TypeAlias, get_args

Target: TypeAlias = Literal["c", "csharp", "typescript"]

TARGETS: Final[tuple[Target, ...]] = get_args(Target)
"""The languages, each a folder of this room whose codec.py prints a Program."""
