"""Names and types of an exported codec in C: what each record, list, option and choice is called there.

All names begin with that of the header; until it is put together, wl_ and WL_ stand for that. Lists whose
length varies are a pointer and a count, options a bool and a value, choices a number and a union; each such
type has a typedef, so that memory for it can be taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from wirelock.export import values as v
from wirelock.export.names import screaming, snake, unique
from wirelock.export.program import Program, RecordDecl

__all__ = ["KEYWORDS", "Names", "comment", "is_position", "octets_literal", "text_literal"]

_WORDS: Final = """
    auto break case char const continue default do double else enum extern float for goto if inline int long
    register restrict return short signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof and and_eq asm bitand bitor bool catch char8_t char16_t char32_t class compl concept
    consteval constexpr constinit const_cast co_await co_return co_yield decltype delete dynamic_cast explicit
    export false friend import module mutable namespace new noexcept not not_eq nullptr operator or or_eq
    private protected public reinterpret_cast requires static_assert static_cast template this thread_local
    throw true try typeid typename using virtual wchar_t xor xor_eq typeof near far linux unix NULL errno
    stdin stdout stderr assert interface small min max EOF BUFSIZ FILENAME_MAX RAND_MAX EXIT_SUCCESS
    EXIT_FAILURE INFINITY NAN HUGE_VAL HUGE_VALF HUGE_VALL I complex imaginary offsetof va_start va_end va_arg
    SEEK_SET SEEK_CUR SEEK_END TMP_MAX CLOCKS_PER_SEC EDOM ERANGE EILSEQ SIGABRT SIGINT SIGTERM TRUE FALSE
    DOMAIN OVERFLOW UNDERFLOW signals emit slots i386 vax pascal cdecl
"""
"""Words of C99 and of C++ up to now, and what common headers define as macros."""

_MACROS: Final = re.compile(
    r"[A-Z][A-Z0-9_]*_(MAX|MIN|WIDTH|BIT|DIG|EXP|EPSILON|SUBNORM|ENDIAN|METHOD|ROUNDS|RADIX)|MAXFLOAT|PIPE_BUF|NL_\w+"
    r"|(M|FP|FLT|DBL|LDBL|SEEK|RENAME|L|P|PTHREAD|MATH|CHAR|math)_\w+|HUGE_VAL\w*|SNAN\w*|NZERO|NFDBITS|DECIMAL_DIG"
    r"|(PRI|SCN)[diouxX]\w*|W[A-Z]+|(MAX|FD)_[A-Z]+|[A-Z_]+_ITERATIONS|BYTE_ORDER|SIG[A-Z]+"
)
"""What macros of math.h, stdint.h, limits.h, float.h, inttypes.h, stdio.h and stdlib.h look like."""

KEYWORDS: Final = frozenset(_WORDS.split())
"""What no field or local may be called."""

_OWN: Final = frozenset(("data", "self", "fault", "arena", "output", "seen", "behind", "went"))
"""What functions call their own parameters and locals."""


_FUNCTIONS: Final = (
    "load", "read", "store", "write", "parse", "build", "next", "from_quaternion", "to_quaternion", "hello",
    "negotiate", "tag_fault", "version_of",
)  # fmt: skip
"""What functions of a record or a protocol are called behind its name."""


def comment(text: str, indent: str = "", width: int = 110) -> str:
    """Return text as a comment, broken into lines."""
    text = text.replace("*/", "* /").replace("/*", "/ *").replace("??", "? ?").replace("\\\n", "\n")
    lines: list[str] = []
    for paragraph in text.splitlines():
        line = ""
        for word in paragraph.split():
            if line and len(indent) + 6 + len(line) + len(word) > width:
                lines.append(line)
                line = ""
            line = f"{line} {word}" if line else word
        lines.append(line)
    return f"{indent}/* " + f"\n{indent}   ".join(lines).rstrip() + " */"


def octets_literal(octets: bytes) -> str:
    """Return bytes as a string literal, in octal: three digits end where they should, whatever follows."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;/+\-=<>()\[\]{}!#$%&'*@^`|~]")
    text = "".join(chr(o) if plain.match(bytes((o,))) else f"\\{o:03o}" for o in octets)
    return '"' + re.sub("[wW](?=[lL]_)", lambda found: f"\\{ord(found[0]):03o}", text) + '"'


def text_literal(text: str) -> str:
    """Return text in UTF-8 as a string literal."""
    return octets_literal(text.encode())


def is_position(kind: v.Type) -> bool:
    """Whether a local holds a byte position, a size or a count: a size_t."""
    return isinstance(kind, v.IntType) and kind == v.IntType(64, True, 0, 1 << 48)


def identifier(name: str) -> str:
    """Return a name of a layout as one of C: its letters, digits and underscores."""
    found = re.sub(r"[^A-Za-z0-9_]", "_", name).strip("_") or "value"
    return f"its_{found}" if found.lower().startswith("wl_") or _MACROS.fullmatch(found) else found


class Names:
    """The names of one header: `prefix` stands before each of them."""

    def __init__(self, program: Program, prefix: str, reserved: frozenset[str]) -> None:
        self.prefix = prefix
        self._taken = {f"{prefix}_{name}" for name in reserved}
        self._constants = {f"{prefix}_{name}".upper() for name in reserved}
        self.records = {record.name: self._owner(record.name) for record in program.records}
        self.enumerations = {item.name: self.new(snake(item.name)) for item in program.enumerations}
        self.protocols = {item.name: self._owner(item.name, "_protocol") for item in program.protocols}
        self.fields = {record.name: _fields(record) for record in program.records}
        self.dispatch = {item.name: self.new(f"{snake(item.name)}_record") for item in program.protocols}
        """Of each protocol, the type that holds a record of any version."""
        self.constants = dict(self._all_constants(program))
        """By the record, enumeration or protocol and version that they are of, and what they are."""
        self._derived: dict[v.Type, str] = {}
        self.typedefs: list[str] = []
        """Of types that a program does not declare, each behind its parts."""

    def new(self, name: str) -> str:
        """Return a new name of the header, for a type or a function."""
        found = unique(f"{self.prefix}_{name}", self._taken, KEYWORDS)
        self._taken.add(found)
        return found

    def _owner(self, name: str, otherwise: str = "") -> str:
        """Return a new name with which those of functions begin, for a record or a protocol."""
        found = snake(name)
        found = self.new(found + otherwise if f"{self.prefix}_{found}" in self._taken else found)
        self._taken |= {f"{found}_{word}" for word in _FUNCTIONS}
        return found

    def _all_constants(self, program: Program) -> Iterator[tuple[tuple[str, ...], str]]:
        for record in program.records:
            for label in ("size", *(item.name for item in record.constants)):
                yield (record.name, label), self._constant(record.name, label)
        for enumeration in program.enumerations:
            for label, _ in enumeration.members:
                yield (enumeration.name, label), self._constant(enumeration.name, label)
        for protocol in program.protocols:
            for version in protocol.versions:
                words = protocol.name, f"v{version.number}", "digest"
                yield words, self._constant(*words)

    def _constant(self, *parts: str) -> str:
        name = "_".join([self.prefix.upper(), *(screaming(part) for part in parts)])
        found = unique(name, self._constants)
        self._constants.add(found)
        return found

    def type_of(self, kind: v.Type) -> str:
        """Return the name of a type, which is declared if need be."""
        match kind:
            case v.IntType(bits=bits, signed=signed):
                return "size_t" if is_position(kind) else f"{'' if signed else 'u'}int{bits}_t"
            case v.BoolType():
                return "bool"
            case v.FloatType(bits=bits):
                return "float" if bits == 32 else "double"
            case v.BytesType(size=None) | v.TextType():
                return "wl_bytes"
            case v.EnumType(name=name):
                return self.enumerations[name]
            case v.RecordType(name=name):
                return self.records[name]
        if kind not in self._derived:
            self._derived[kind] = self._declare(kind)
        return self._derived[kind]

    def new_typedefs(self) -> list[str]:
        """Return the typedefs since this was last asked for: of members, and of locals of functions."""
        found, self.typedefs = self.typedefs, []
        return found

    def declaration(self, kind: v.Type, name: str) -> str:
        """Return how a member or a local of a type is declared."""
        match kind:
            case v.BytesType(size=int(size)):
                return f"uint8_t {name}[{max(size, 1)}]"
            case v.ListType(element=element, size=int(size)):
                return self.declaration(element, f"{name}[{max(size, 1)}]")
        return f"{self.type_of(kind)} {name}"

    def case_labels(self, kind: v.ChoiceType) -> list[str]:
        """Return the names of a choice's cases, as members of its union."""
        found: list[str] = []
        for label, _ in kind.cases:
            found.append(unique(identifier(label), found, KEYWORDS))
        return found

    def _word(self, kind: v.Type) -> str:
        """Return a word for a type, of which names of others are made."""
        match kind:
            case v.BytesType(size=int(size)):
                return f"bytes{size}"
            case v.ListType(element=element, size=int(size)):
                return f"{self._word(element)}_{size}"
        return self.type_of(kind).removeprefix(f"{self.prefix}_").removeprefix("wl_").removesuffix("_t")

    def _declare(self, kind: v.Type) -> str:
        match kind:
            case v.BytesType() | v.ListType(size=int()):
                name = self.new(self._word(kind))
                self.typedefs.append(f"typedef {self.declaration(kind, name)};")
            case v.ListType(element=element):
                element_type = self.type_of(element)
                name = self.new(f"{self._word(element)}_list")
                self.typedefs.append(
                    f"typedef struct {{\n    {element_type} *items;\n    size_t count;\n}} {name};"
                )
            case v.OptionType(inner=inner):
                member = self.declaration(inner, "value")
                name = self.new(f"optional_{self._word(inner)}")
                self.typedefs.append(f"typedef struct {{\n    bool present;\n    {member};\n}} {name};")
            case v.ChoiceType():
                return self._choice(kind)
            case _:
                raise AssertionError(kind)
        return name

    def _choice(self, kind: v.ChoiceType) -> str:
        labels = self.case_labels(kind)
        members = [
            f"        {self.declaration(case, label)};\n"
            for label, (_, case) in zip(labels, kind.cases, strict=True)
            if case is not None
        ]
        name = self.new(snake(kind.name))
        constants = ", ".join(f"{name.upper()}_{screaming(label)}" for label in labels)
        union = f"    union {{\n{''.join(members)}    }} as;\n" if members else ""
        self.typedefs.append(
            f"{comment(f'Which case a {name} holds.')}\nenum {{ {constants} }};\n\n"
            f"typedef struct {{\n    uint32_t which;\n{union}}} {name};"
        )
        return name


def _fields(record: RecordDecl) -> dict[str, str]:
    found: dict[str, str] = {}
    for item in record.fields:
        found[item.name] = unique(identifier(item.name), found.values(), KEYWORDS)
    return found


class Locals:
    """The names of one function's locals."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        if name not in self._names:
            self._names[name] = unique(identifier(name), self._names.values(), KEYWORDS | _OWN)
        return self._names[name]
