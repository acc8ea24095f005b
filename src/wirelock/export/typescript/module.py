"""What one TypeScript module has: its names, types and imports, and what is known of its functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.names import camel, pascal, unique
from wirelock.export.program import Function, Program, RecordDecl
from wirelock.export.typescript.layout import Doc, arguments, render
from wirelock.export.typescript.text import code_of, mentions

__all__ = ["Module", "Traits", "nodes_in"]

WORDS: Final = frozenset(
    """
    any arguments as async await bigint boolean break case catch class const continue debugger declare
    default delete do else enum eval export exports extends false finally for from function get globalThis
    if implements import in infer instanceof interface is keyof let module namespace never new null number
    object of package private protected public readonly require return set static string super switch symbol
    this throw true try type typeof undefined unique unknown var void while with yield
    Array BigInt DataView Error Extract Infinity JSON Map Math NaN Number Object Omit Promise RangeError
    Readonly Record String Uint8Array
    at end json reader record view writer
    """.split()  # noqa: SIM905 - a list of words reads better as text
)
"""No name of ours: words of the language, and names that the emitted functions themselves use."""
FACE: Final = frozenset(
    {"data", "isWhole", "message", "messages", "newest", "packet", "q", "rest", "version"}
)
"""No name of a module: parameters and locals of the objects of versions and protocols."""
RUNTIME: Final = frozenset(
    """
    Fault FaultCode Float JsonWriter Mutable Negotiated NegotiationError QuietNaN Quaternion Reader Tag
    WireError Writer
    absBigInt answer bitsOf16 bitsOf32 bitsOf64 caught decode encode encoded endsInNuls findMark fits16
    fits32 floatOf16 floatOf32 floatOf64 floorDivide floorRemainder getBigInt56 getBigUint56 getInt24 getInt40
    getInt48 getUint24 getUint40 getUint48 isBigInt isBinary16 isBinary32 isInteger lengthOf main maxBigInt
    minBigInt must nearestRaw negotiate numberOf numberOf16 numberOf32 numberOf64 putText rawOf sameBytes
    setBigUint56
    setUint24 setUint40 setUint48 tagFault textCode textFits textOf textSize unzigzag varintSize zigzag
    """.split()  # noqa: SIM905
)
"""What the modules of the runtime export and ours import, each where it needs it: no name of ours either."""
TYPES: Final = frozenset({"Float", "Mutable", "Negotiated", "Quaternion"})
"""What is imported as a type alone."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What callers must know of a function: whether it fails, notes a fault of values, what it ignores."""

    fails: bool
    notes: bool
    unused: frozenset[str] = frozenset()
    """The parameters that it does not use, by their names in the program, and reader, writer or record."""


def nodes_in(node: Any) -> Iterator[Any]:
    """Yield every statement and value in a node, at any depth, itself first."""
    if isinstance(node, tuple):
        for item in node:
            yield from nodes_in(item)
    elif is_dataclass(node) and not isinstance(node, type):
        yield node
        if isinstance(node, v.IntType | v.FloatType | v.ListType | v.OptionType | v.ChoiceType):
            return
        for item in fields(node):
            yield from nodes_in(getattr(node, item.name))


class Module:
    """The names and imports of one module, under construction."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.records = {record.name: record for record in program.records}
        self.enumerations = {item.name: item for item in program.enumerations}
        self.imports: dict[str, set[str]] = {}
        self.constants: dict[str, bytes] = {}
        self.traits: dict[tuple[str, str], Traits] = {}
        self._taken: set[str] = set()
        self.types: dict[str, str] = {}
        self.choices: dict[str, v.ChoiceType] = {}
        self.messages: dict[str, str] = {}
        """The objects of protocols, by their names; `unions` are the types of their records."""
        self.unions: dict[str, str] = {}
        self.private: dict[tuple[str, str], str] = {}
        """The constants of a protocol and the functions of a record, by their kind and its name."""
        self.fields: dict[str, dict[str, str]] = {}
        for name in (*self.records, *self.enumerations):
            self.types[name] = self.name(pascal(name))
        for record in program.records:
            names: dict[str, str] = {}
            for declared in record.fields:
                names[declared.name] = unique(camel(declared.name), names.values())
                self._find_choices(declared.type)
            self.fields[record.name] = names
        for protocol in program.protocols:
            self.messages[protocol.name] = self.name(camel(protocol.name))
            union = pascal(protocol.name)
            self.unions[protocol.name] = self.name(f"{union}Message" if union in self.taken else union)
        for name, shown in self.messages.items():
            for kind in ("Hello", "Tag"):
                self.private[kind, name] = self.name(f"{shown}{kind}")
        for record in program.records:
            for function in record.functions:
                wanted = f"{function.kind}{self.types[record.name]}"
                self.private[function.kind, record.name] = self.name(wanted)

    def _find_choices(self, kind: v.Type | None) -> None:
        match kind:
            case v.ChoiceType(name=name, cases=cases):
                if name not in self.choices:
                    self.choices[name] = kind
                    self.types[name] = self.name(pascal(name))
                for _, inner in cases:
                    self._find_choices(inner)
            case v.ListType(element=inner) | v.OptionType(inner=inner):
                self._find_choices(inner)

    def name(self, wanted: str) -> str:
        """Return a name of the module that nothing else has."""
        found = unique(wanted, self._taken, WORDS | RUNTIME | FACE)
        self._taken.add(found)
        return found

    @property
    def taken(self) -> set[str]:
        """The names that a local may not have: those of the module, and all that it may ever import."""
        return self._taken | RUNTIME | WORDS

    # -- imports

    def _import(self, module: str, name: str) -> str:
        assert name in RUNTIME, name
        self.imports.setdefault(module, set()).add(name)
        return name

    def codec(self, name: str) -> str:
        """Return a name of the runtime that has faults, readers and writers."""
        return self._import("codec", name)

    def integers(self, name: str) -> str:
        """Return a name of the runtime of integers."""
        return self._import("integers", name)

    def floats(self, name: str) -> str:
        """Return a name of the runtime of floats."""
        return self._import("floats", name)

    def text(self, name: str) -> str:
        """Return a name of the runtime of text."""
        return self._import("text", name)

    def protocol(self, name: str) -> str:
        """Return a name of the runtime of tags and hellos."""
        return self._import("protocol", name)

    def quaternion(self, name: str) -> str:
        """Return a name of the runtime of quaternions."""
        return self._import("quaternion", name)

    def runner(self, name: str) -> str:
        """Return a name of the runner of golden files."""
        return self._import("runner", name)

    def import_text(self, folder: str, body: str) -> str:
        """Return the import declarations for a body; what only types need is imported as a type."""
        code = code_of(body)
        for module, names in self.imports.items():
            self.imports[module] = {name for name in names if mentions(code, name)}
        self.imports = {module: names for module, names in self.imports.items() if names}
        found = ""
        for module, names in sorted(self.imports.items()):
            parts: list[Doc] = [
                f"type {name}" if name in TYPES else name for name in sorted(names, key=str.lower)
            ]
            keyword = "import"
            if names <= TYPES:
                keyword, parts = "import type", [*sorted(names)]
            found += (
                render(
                    (f"{keyword} ", arguments("{", parts, "}", space=True), f' from "{folder}{module}.js";')
                )
                + "\n"
            )
        return found

    def octets(self, octets: bytes) -> str:
        """Return the name of a constant that holds these bytes."""
        for name, known in self.constants.items():
            if known == octets:
                return name
        hint = f"BYTES_{octets.hex().upper()}" if 0 < len(octets) <= 8 else "BYTES"
        name = self.name(hint)
        self.constants[name] = octets
        return name

    # -- types

    def wide_type(self, kind: v.Type) -> bool:
        """Whether values of an integer type are bigints."""
        if isinstance(kind, v.EnumType):
            kind = self.enumerations[kind.name].storage
        assert isinstance(kind, v.IntType), kind
        return kind.low < v.SAFE[0] or kind.high > v.SAFE[1]

    def is_flags(self, kind: v.EnumType) -> bool:
        """Whether an enumeration is a set of flags."""
        return self.enumerations[kind.name].flags

    def type(self, kind: v.Type) -> str:
        """Return a type as it is written."""
        match kind:
            case v.IntType():
                return "bigint" if self.wide_type(kind) else "number"
            case v.BoolType():
                return "boolean"
            case v.FloatType(nan=nan):
                if nan:
                    self.floats("Float")
                return "Float" if nan else "number"
            case v.BytesType():
                return "Uint8Array"
            case v.TextType():
                return "string"
            case v.EnumType(name=name) | v.RecordType(name=name) | v.ChoiceType(name=name):
                return self.types[name]
            case v.ListType(element=element):
                return f"readonly {self._element(element)}[]"
            case v.OptionType(inner=v.OptionType() as inner):
                return self.type(inner)
            case v.OptionType(inner=inner):
                return f"{self.type(inner)} | null"
        raise AssertionError(kind)

    def _element(self, kind: v.Type) -> str:
        text = self.type(kind)
        return f"({text})" if " " in text else text

    def mutable(self, kind: v.ListType) -> str:
        """Return the type of a list that is being filled."""
        return f"{self._element(kind.element)}[]"

    def default(self, kind: v.Type) -> str:
        """Return the value of a type that has no bits set."""
        match kind:
            case v.IntType() | v.EnumType():
                zero = "0n" if self.wide_type(kind) else "0"
                if isinstance(kind, v.EnumType) and not self.is_flags(kind):
                    return f"{zero} as {self.type(kind)}"
                return zero
            case v.BoolType():
                return "false"
            case v.FloatType():
                return "0"
            case v.BytesType(size=size):
                return f"new Uint8Array({size or 0})"
            case v.TextType():
                return '""'
            case v.ListType(element=element, size=size):
                if not size:
                    return "[]"
                return f"Array.from({{ length: {size} }}, () => {_returned(self.default(element))})"
            case v.OptionType():
                return "null"
            case v.RecordType(name=name):
                names = self.fields[name]
                told = ", ".join(
                    f"{names[item.name]}: {self.default(item.type)}" for item in self.records[name].fields
                )
                return f"{{ {told} }}" if told else "{}"
            case v.ChoiceType(cases=cases):
                label, inner = cases[0]
                told = f", value: {self.default(inner)}" if inner is not None else ""
                return f'{{ kind: "{label}"{told} }}'
        raise AssertionError(kind)

    # -- functions

    def function(self, kind: str, record: str) -> str:
        """Return the name of a record's function."""
        return self.private[kind, record]

    def learn(self, function: Function) -> Traits:
        """Find out what callers must know of a function; those that it calls are known."""
        fails = notes = False
        for node in nodes_in(function.body):
            match node:
                case st.Fail() | st.ReadVarint():
                    fails = True
                case st.FailText():
                    fails = notes = True
                case st.Note():
                    notes = True
                case st.Read(record=record, load=load):
                    called = self.traits[record, "load" if load else "read"]
                    fails, notes = fails or called.fails, notes or called.notes
                case st.Write(record=record, at=at):
                    called = self.traits[record, "write" if at is None else "store"]
                    fails, notes = fails or called.fails, notes or called.notes
        self.traits[function.record, function.kind] = found = Traits(fails, notes)
        return found

    def amend(self, function: Function, unused: Iterable[str]) -> None:
        """Note which parameters a function that is printed does not use: it has none of them."""
        known = self.traits[function.record, function.kind]
        self.traits[function.record, function.kind] = replace(known, unused=frozenset(unused))

    def functions(self) -> Iterable[tuple[RecordDecl, Function]]:
        """Yield every function behind those that it calls."""
        for record in self.program.records:
            for kind in ("load", "read", "store", "write"):
                for function in record.functions:
                    if function.kind == kind:
                        yield record, function


def _returned(text: str) -> str:
    return f"({text})" if text.startswith("{") else text
