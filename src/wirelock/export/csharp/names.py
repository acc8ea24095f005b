"""What a program's types and names are in C#: structs and enums in PascalCase, arrays, nullables.

A Book holds the names of one export; those that the runtime or C# itself uses are never given to a record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from wirelock.export import values as v
from wirelock.export.names import camel, pascal, unique
from wirelock.export.program import Enumeration, Program, RecordDecl

__all__ = ["Book", "choices_in", "is_reference"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYWORDS: Final = _words("""
    abstract as base bool break byte case catch char checked class const continue decimal default delegate
    do double else enum event explicit extern false finally fixed float for foreach goto if implicit in int
    interface internal is lock long namespace new null object operator out override params private
    protected public readonly ref return sbyte sealed short sizeof stackalloc static string struct switch
    this throw true try typeof uint ulong unchecked unsafe ushort using var virtual void volatile while
""")
TYPES: Final = _words("""
    Fault FaultCode FaultSlot WireException Reader Writer Wire TagField SmallestThree Negotiation
    Disagreement Hello JsonNumber JsonObject JsonReader JsonText JsonDifference DecimalText Runner Teller Hex
    Codec Codecs GoldenFiles
    Array ArgumentException ArgumentOutOfRangeException BinaryPrimitives BitConverter Console Convert
    Comparer CultureInfo Dictionary Encoding Exception File FormatException HashCode IEquatable IOException
    KeyValuePair List Math MemoryExtensions MethodImpl MethodImplOptions NumberStyles Object ReadOnlySpan
    SortedList Span StreamReader StreamWriter String StringBuilder StringComparer System TextWriter
    UTF8Encoding UTF32Encoding UnauthorizedAccessException
""")
"""Names of types that the code uses without their namespace."""
MEMBERS: Final = _words("""
    EncodedSize Parse TryParse Build TryBuild FromQuaternion TryFromQuaternion ToQuaternion Load Read Store
    Write Equals GetHashCode ToString GetType MemberwiseClone ReferenceEquals Finalize Wire FaultCode Math
    Array BitConverter BinaryPrimitives MemoryExtensions SmallestThree System
""")
"""Names of members that a record has anyway, and of classes that its functions call."""
OWN: Final = ("",)
OF_PROTOCOL: Final = ("Protocol", "Message", "Codecs")
"""What the names of a protocol's classes end with."""
LOCALS: Final = frozenset({"reader", "writer", "data", "bytes", "at", "end", "json", "record"})
"""Names of parameters, and of locals that the program does not know."""
INTEGERS: Final = {
    (8, False): "byte", (8, True): "sbyte", (16, False): "ushort", (16, True): "short",
    (32, False): "uint", (32, True): "int", (64, False): "ulong", (64, True): "long",
}  # fmt: skip


class Book:
    """Names of one program in C#: of types, of the members of each, and which types are values."""

    def __init__(self, program: Program) -> None:
        self.records = {item.name: item for item in program.records}
        self.enumerations = {item.name: item for item in program.enumerations}
        self.choices = {choice.name: choice for record in program.records for choice in choices_in(record)}
        self._types: dict[str, str] = {}
        self._taken = set(TYPES | MEMBERS)
        for declared in (*self.records, *self.enumerations):
            self._types[declared] = self.named(declared, OWN)
        for declared in self.choices:
            self._types[declared] = self.named(declared, (*OWN, "Kind"))
        self.protocols = {
            item.name: self.named(
                item.name, (*OF_PROTOCOL, *(f"CodecV{version.number}" for version in item.versions))
            )
            for item in program.protocols
        }
        """What the classes of a protocol begin with."""
        self._fields: dict[str, dict[str, str]] = {}
        self._members: dict[str, tuple[tuple[str, int], ...]] = {}
        self._cases: dict[str, tuple[str, ...]] = {}

    def type_name(self, name: str) -> str:
        """Return the name of a record, an enumeration or a choice."""
        return self._types[name]

    def named(self, name: str, endings: tuple[str, ...]) -> str:
        """Return a name that no type has with one of these endings, and take it with all of them."""
        wanted = unique(pascal(name), (), KEYWORDS)
        found, number = wanted, 2
        while self._taken.intersection(_spellings(found, endings)):
            found, number = f"{wanted}{number}", number + 1
        self._taken.update(_spellings(found, endings))
        return found

    def namespace(self, name: str) -> str:
        """Return the name of a namespace: outside of it, one named like a type would hide that type."""
        wanted = unique(pascal(name), ())
        return f"{wanted}Protocols" if wanted in self._taken else wanted

    def field(self, record: str, name: str) -> str:
        """Return the name of a record's field."""
        return self.fields(record)[name]

    def fields(self, record: str) -> dict[str, str]:
        """Return the names of a record's fields, constants and rules' codes, by those of the program."""
        if record not in self._fields:
            declared = self.records[record]
            names = [item.name for item in declared.fields] + [item.name for item in declared.constants]
            names += [f"rule:{rule.name}" for rule in declared.layout.rules]
            self._fields[record] = _distinct(names, MEMBERS | {self.type_name(record)})
        return self._fields[record]

    def members(self, enumeration: Enumeration) -> tuple[tuple[str, int], ...]:
        """Return the members of an enum; a set of flags has one for the empty set."""
        if enumeration.name not in self._members:
            names = _distinct([name for name, _ in enumeration.members], {"value__"})
            found = [(names[name], value) for name, value in enumeration.members]
            if enumeration.flags and all(value for _, value in found):
                found.insert(0, (unique("None", names.values()), 0))
            self._members[enumeration.name] = tuple(found)
        return self._members[enumeration.name]

    def cases(self, choice: v.ChoiceType) -> tuple[str, ...]:
        """Return the names of a choice's cases."""
        if choice.name not in self._cases:
            names = _distinct(
                [label for label, _ in choice.cases], MEMBERS | {"Kind", self.type_name(choice.name)}
            )
            self._cases[choice.name] = tuple(names[label] for label, _ in choice.cases)
        return self._cases[choice.name]

    def local(self, name: str, taken: Iterable[str]) -> str:
        """Return the name of a local that no other has."""
        return unique(camel(name), set(taken), KEYWORDS | LOCALS)

    def of(self, kind: v.Type) -> str:
        """Return a type in C#."""
        match kind:
            case v.IntType(bits=bits, signed=signed):
                return INTEGERS[bits, signed]
            case v.BoolType():
                return "bool"
            case v.FloatType(bits=bits):
                return "float" if bits == 32 else "double"
            case v.BytesType():
                return "byte[]"
            case v.TextType():
                return "string"
            case v.EnumType(name=name) | v.RecordType(name=name) | v.ChoiceType(name=name):
                return self.type_name(name)
            case v.ListType(element=element):
                return f"{self.of(element)}[]"
            case v.OptionType(inner=inner):
                return self.of(inner) if is_reference(inner) else f"{self.of(inner)}?"

    def comparable(self, kind: v.Type) -> bool:
        """Whether values of a type are compared without going through lists."""
        match kind:
            case v.ListType() | v.BytesType():
                return False
            case v.RecordType(name=name):
                return all(self.comparable(item.type) for item in self.records[name].fields)
            case v.ChoiceType(cases=cases):
                return all(inner is None or self.comparable(inner) for _, inner in cases)
            case v.OptionType(inner=inner):
                return self.comparable(inner)
        return True


def _spellings(name: str, endings: tuple[str, ...]) -> Iterator[str]:
    """Yield a name with its endings; of files in lower case too: some systems mix them up."""
    for ending in endings:
        yield f"{name}{ending}"
        if ending == OF_PROTOCOL[0]:
            yield f"{name}{ending}.cs".lower()


def is_reference(kind: v.Type) -> bool:
    """Whether null can stand for the absent value of a type."""
    return isinstance(kind, v.ListType | v.BytesType | v.TextType)


def choices_in(record: RecordDecl) -> Iterator[v.ChoiceType]:
    """Yield the choices among the fields of a record, inner ones first."""
    for item in record.fields:
        yield from _choices(item.type)


def _choices(kind: v.Type | None) -> Iterator[v.ChoiceType]:
    match kind:
        case v.ListType(element=inner) | v.OptionType(inner=inner):
            yield from _choices(inner)
        case v.ChoiceType(cases=cases):
            for _, held in cases:
                yield from _choices(held)
            yield kind


def _distinct(names: Iterable[str], words: frozenset[str] | set[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in names:
        found[name] = unique(pascal(name), found.values(), words)
    return found
