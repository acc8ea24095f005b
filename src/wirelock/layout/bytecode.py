"""What a function that describes a layout may do, judged by its code alone, before it is ever run.

Attributes, items, arithmetic, comparisons, constants, branches, and calls of a few named functions: each
instruction is on the list below or the function is refused. No instruction jumps back, so all that is
accepted ends. Covers CPython 3.11 to 3.14; an instruction that is not known is never taken for one that is.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from types import CodeType
from typing import Final

__all__ = ["ARRAYS", "CHOICE", "FORM", "Untraceable", "check_code"]

FORM: Final = "write it with ctx.a, arithmetic, comparisons, and/or/not, if-else, len, abs, min and max"

ARRAYS: Final = "read single fields, as in ctx.a + ctx.b: the elements of an array cannot be read"
CHOICE: Final = "choose with if: 2 if ctx.k == 1 else 3"


class Untraceable(Exception):  # noqa: N818 - it is turned into a SchemaError, with the place
    """What a function does that cannot be read, in words that continue "the lambda", and a remedy."""

    def __init__(self, problem: str, remedy: str = FORM) -> None:
        super().__init__(problem, remedy)
        self.problem = problem
        self.remedy = remedy


_ALLOWED: Final = frozenset({
    "RESUME", "NOP", "CACHE", "EXTENDED_ARG", "NOT_TAKEN", "PRECALL", "COPY_FREE_VARS",
    "LOAD_CONST", "LOAD_SMALL_INT", "RETURN_VALUE", "RETURN_CONST", "LOAD_GLOBAL", "LOAD_DEREF",
    "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "LOAD_FAST_BORROW", "LOAD_FAST_BORROW_LOAD_FAST_BORROW",
    "PUSH_NULL", "POP_TOP", "COPY", "SWAP", "LOAD_ATTR", "BINARY_SUBSCR", "BINARY_OP", "COMPARE_OP",
    "CONTAINS_OP", "BUILD_TUPLE", "BUILD_LIST", "CALL",
    "UNARY_NOT", "UNARY_NEGATIVE", "UNARY_POSITIVE", "UNARY_INVERT", "TO_BOOL",
    "JUMP_FORWARD", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "POP_JUMP_FORWARD_IF_FALSE",
    "POP_JUMP_FORWARD_IF_TRUE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP",
})  # fmt: skip
"""`dis` gives instructions under these names also where the interpreter has put faster ones in place."""

_REFUSED: Final = {
    "IS_OP": ("tests with `is`", "compare with ==, as in ctx.a == 0: a field that can be read is never None"),
    "FORMAT_": ("formats text", "compare the value itself: ctx.k == 1"),
    "BUILD_STRING": ("formats text", "compare the value itself: ctx.k == 1"),
    "CONVERT_VALUE": ("formats text", "compare the value itself: ctx.k == 1"),
    "BUILD_SLICE": ("takes a slice", ARRAYS),
    "BINARY_SLICE": ("takes a slice", ARRAYS),
    "BUILD_": ("makes a collection", CHOICE),
    "MAKE_": ("has a function or a loop inside", ARRAYS),
    "GET_ITER": ("loops", ARRAYS),
    "FOR_ITER": ("loops", ARRAYS),
    "JUMP_BACKWARD": ("loops", ARRAYS),
    "POP_JUMP_BACKWARD": ("loops", ARRAYS),
    "STORE_": ("assigns", "write the value where it is used"),
    "DELETE_": ("deletes", "write the value where it is used"),
    "KW_NAMES": ("calls with keywords", "write abs(ctx.a), min(ctx.a, 3)"),
    "CALL_KW": ("calls with keywords", "write abs(ctx.a), min(ctx.a, 3)"),
    "CALL_FUNCTION_EX": ("calls with `*`", "write min(ctx.a, ctx.b)"),
    "LOAD_ASSERTION_ERROR": ("asserts", "give the record a Rule"),
    "LOAD_COMMON_CONSTANT": ("asserts", "give the record a Rule"),
    "RAISE_VARARGS": ("raises", "give the record a Rule"),
    "PUSH_EXC_INFO": ("catches exceptions", FORM),
    "RETURN_GENERATOR": ("is a generator", FORM),
    "IMPORT_": ("imports", "import at the top of the file"),
}
"""How the name of an instruction begins -> what the function does, and what to write in its place."""


def check_code(code: CodeType) -> Iterator[str]:
    """Yield the global names and outer variables that a function reads, in the order of its code.

    Raises Untraceable at the first instruction that is not allowed.
    """
    if code.co_flags & (0x04 | 0x08):  # *args and **kwargs, see `inspect`
        raise Untraceable("takes any number of arguments", "name the context: lambda ctx: ctx.a")
    for instruction in dis.get_instructions(code):
        name, wanted = instruction.opname, instruction.argval
        if name.endswith("_NONE"):
            name = "IS_OP"
        if name == "LOAD_METHOD" or (name == "LOAD_ATTR" and _is_method(instruction)):
            raise Untraceable(f"calls the method `{wanted}`", 'read a field as ctx.a or ctx["a"]')
        if name == "LOAD_ATTR" and wanted.startswith("__"):
            raise Untraceable(f"reads `{wanted}`", "read the fields of the layout only")
        if name == "CALL_INTRINSIC_1" and instruction.argrepr == "INTRINSIC_UNARY_POSITIVE":
            continue
        if name not in _ALLOWED:
            told = (words for start, words in _REFUSED.items() if name.startswith(start))
            raise Untraceable(*next(told, (f"uses the instruction {name}", FORM)))
        if name in ("LOAD_GLOBAL", "LOAD_DEREF"):
            yield wanted


def _is_method(instruction: dis.Instruction) -> bool:
    """Whether an attribute is loaded only to be called; before 3.12 that has a name of its own."""
    return sys.version_info >= (3, 12) and bool((instruction.arg or 0) & 1)
