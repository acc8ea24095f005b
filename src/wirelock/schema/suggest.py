"""A Layout that was read from an author's construct -> the Python source of Record classes for it.

The source imports the author's object and names every part of it by an expression, so that nothing of
the schema is written a second time. What is returned without obstacles has been run: the classes are
made, and what makes them refuse is an obstacle with its place and a remedy.
"""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from enum import IntEnum, IntFlag
from types import ModuleType
from typing import Any, Final

from wirelock.errors import SchemaError
from wirelock.layout.expression import member_value
from wirelock.layout.leaves import bitwise, unwrap
from wirelock.layout.nodes import (
    Array,
    Bytes,
    Checksum,
    Computed,
    Constant,
    Enum,
    Field,
    Flag,
    Flags,
    Float,
    Framed,
    If,
    Layout,
    Limited,
    Mapping,
    Nothing,
    Opaque,
    Optional,
    Padded,
    Padding,
    Scaled,
    Select,
    Sequence,
    Sized,
    Switch,
    Terminated,
    Text,
    Type,
    layouts_in,
    plain,
)
from wirelock.layout.terms import Key, Path
from wirelock.layout.walk import Construct, walk
from wirelock.schema.around import first_difference
from wirelock.schema.record import Record

__all__ = ["Suggestion", "names_taken", "suggest"]

_TAKEN: Final = ("IntEnum", "IntFlag", "Literal", "Bitwise", "Record", "derived")
_BUILT_IN: Final = ("int", "float", "bool", "bytes", "str", "tuple")


def suggest(layout: Layout, source: Any, module: ModuleType, path: str) -> tuple[str, list[SchemaError]]:
    """Return source text for the construct `source`, which is `path` in `module`, and what is in its way."""
    obstacles = names_taken(layout)
    if obstacles:
        return "", obstacles
    try:
        made = Suggestion(source, module, path)
        text = made.text(layout)
        _prove(text)
    except SchemaError as error:
        return "", [error]
    except RecursionError:
        return "", [SchemaError("", "constructs are nested too deeply", "flatten the layout")]
    return text, []


def names_taken(layout: Layout, path: str = "") -> list[SchemaError]:
    """Return an error for each field, at any depth, whose name a Record has for something else."""
    own = {*dir(Record), "layout"}
    found = []
    for item in layout.fields:
        here = f"{path}.{item.label}".lstrip(".")
        if item.in_record and item.label in own:
            found.append(
                SchemaError(here, "the name is one of a Record's own", f"rename it, as {item.label}_")
            )
        if isinstance(plain(item.type), Array):
            here += ".[]"
        for inner in layouts_in(item.type):
            found += names_taken(inner, here)
    return found


def _prove(text: str) -> None:
    """Make the classes once. Raises SchemaError where one cannot be made."""
    try:
        exec(compile(text, "<suggestion>", "exec", dont_inherit=True), {"__name__": "wirelock_suggestion"})
    except SchemaError:
        raise
    except Exception as problem:  # of any name or value of the author's
        told = f"no Record can be made of it: {type(problem).__name__}: {problem}"
        raise SchemaError("", " ".join(told.split()), "rename what has an unusual name") from problem


class Suggestion:
    """The classes for one schema while they are written, in the order in which they are needed."""

    def __init__(self, source: Any, module: ModuleType, path: str) -> None:
        self.module, self.path = module, path
        self.imported = {path.partition(".")[0]}
        self.classes: list[str] = []
        self.names: set[str] = {*_TAKEN, *_BUILT_IN, *self.imported}
        self.fields: set[str] = set()
        self.around: list[Layout] = []
        self.records: dict[int, tuple[str, Layout]] = {}
        self.enums: dict[Any, str] = {}
        self.walked: dict[tuple[int, bool], Layout | None] = {}
        self.places = [*_module_places(module), *_places(source, path)]

    def text(self, layout: Layout) -> str:
        """Return the whole source."""
        self.fields = _labels(layout)
        self._record(layout, self.path.removesuffix(".layout").rpartition(".")[2], "", self.path)
        body = "\n\n\n".join(self.classes)
        lines = [
            _import("enum", body, ("IntEnum", "IntFlag")),
            _import("typing", body, ("Any", "Literal")),
            "",
            _import("construct", body, ("Bitwise",)),
            _import("wirelock", body, ("Record", "derived")),
            "",
            f"from {self.module.__name__} import {', '.join(sorted(self.imported))}",
        ]
        head = "\n".join(line for line in lines if line is not None).strip("\n")
        return f"{head}\n\n\n{body}\n"

    def _record(self, layout: Layout, name: str, where: str, expression: str | None = None) -> str:
        known = self.records.get(id(layout.origin))
        if known is not None:
            difference = first_difference(known[1], layout)
            if difference:
                told = "the same Struct lies here in another way than before it"
                raise SchemaError(where, f"{told}: {difference}", "give each place a Struct of its own")
            return known[0]
        stands, own = expression, layout
        if stands is None:
            stands, name, own = self._expression(layout, name, where)
        cls = self._name(name)
        self.records[id(layout.origin)] = cls, own
        lines = [f"class {cls}(Record, layout={stands}):"]
        self.around.append(layout)
        for item in layout.fields:
            if item.in_record:
                lines += self._field(item, f"{where}.{item.label}".lstrip("."))
        self.around.pop()
        self.classes.append("\n".join(lines if len(lines) > 1 else [*lines, "    pass"]))
        return cls

    def _expression(self, layout: Layout, name: str, where: str) -> tuple[str, str, Layout]:
        """Return an expression for the construct of a layout, a name for the class, and its own layout."""
        for wrapped in (False, True):
            for text, found in self.places:
                if wrapped and unwrap(found) is not layout.origin:
                    continue
                own = self._walked(found, wrapped)
                if own is None or own.origin is not layout.origin or first_difference(own, layout):
                    continue
                root = text.partition(".")[0]
                self.imported.add(root)
                self.names.add(root)
                return f"Bitwise({text})" if wrapped else text, text if text == root else name, own
        raise SchemaError(
            where,
            "this Struct is no record of its own: it only has a meaning where it stands",
            "let it begin and end with a byte, and write this._ in place of this._root",
        )

    def _walked(self, source: Any, wrapped: bool) -> Layout | None:
        """Return the layout of a construct on its own, or of one of bits; None if it has none."""
        if (id(source), wrapped) not in self.walked:
            try:
                found = walk(bitwise(source) if wrapped else source)
            except SchemaError:
                found = None
            self.walked[id(source), wrapped] = found
        return self.walked[id(source), wrapped]

    def _field(self, item: Field, where: str) -> Iterator[str]:
        value = ""
        kind = plain(item.type)
        if item.derived is not None or isinstance(kind, Constant | Checksum):
            value = " = derived()"
        elif isinstance(kind, Nothing | Padding | Terminated):
            value = " = None"
        elif type(item.default) in (int, bool, float, bytes, str) and not isinstance(kind, Enum | Flags):
            value = f" = {_quoted(item.default)}"
        annotation = self._annotation(item.type, item.label, where)
        if isinstance(kind, Enum) and (number := member_value(kind, item.default)) is not None:
            value = f" = {number}" if annotation == "int" else f" = {annotation}({number})"
        yield f"    {item.label}: {annotation}{value}"
        if item.doc:
            yield "    " + (f'""{_quoted(item.doc)}""' if _is_plain(item.doc) else repr(item.doc))

    def _annotation(self, kind: Type, name: str, where: str) -> str:
        match kind:
            case Limited(inner=inner) | Framed(inner=inner) | Sized(inner=inner) | Padded(inner=inner):
                return self._annotation(inner, name, where)
            case Array(element=element):
                return f"tuple[{self._annotation(element, _singular(name), f'{where}.[]')}, ...]"
            case Sequence(types=types):
                parts = [
                    self._annotation(part, f"{name}_{at}", f"{where}.[{at}]") for at, part in enumerate(types)
                ]
                return f"tuple[{', '.join(parts)}]"
            case Select(cases=records):
                return _union([self._annotation(record, name, where) for _, record in records])
            case Checksum(type=inner):
                return self._annotation(inner, name, where)
            case Opaque():
                return "Any"
            case If(type=inner) | Optional(inner=inner):
                return _union([self._annotation(inner, name, where), "None"])
            case Switch(cases=cases, default=default):
                keys = self._members_of(kind)
                found = []
                for key, case in cases:
                    word = keys.get(key, key.decode("latin-1") if isinstance(key, bytes) else str(key))
                    found.append(self._annotation(case, f"{name}_{word}", f"{where}.<{word}>"))
                if default is not None:
                    found.append(self._annotation(default, f"{name}_other", f"{where}.<default>"))
                return _union(found)
            case Layout():
                return self._record(kind, name, where)
            case Enum() | Flags():
                return self._members(kind, name)
            case Mapping(members=members):
                return f"Literal[{', '.join(_quoted(key) for key, _ in members)}]"
            case Constant(value=value):
                return "bytes" if isinstance(value, bytes) else "int"
            case Nothing() | Padding() | Terminated():
                return "None"
            case Float() | Scaled():
                return "float"
            case Flag():
                return "bool"
            case Computed(boolean=boolean):
                return "bool" if boolean else "int"
            case Text():
                return "str"
            case Bytes():
                return "bytes"
        return "int"

    def _members_of(self, choice: Switch) -> dict[Key, str]:
        """Return what the keys of a choice are called, where a field of the same record says so."""
        for item in self.around[-1].fields:
            if choice.key == Path(0, (item.name or "",)) and isinstance(kind := plain(item.type), Enum):
                return {value: member for member, value in kind.members}
        return {}

    def _members(self, kind: Enum | Flags, name: str) -> str:
        """Return the class of an enumeration: the author's own, or one that is written here."""
        base: Any = IntEnum if isinstance(kind, Enum) else IntFlag
        for label, found in vars(self.module).items():
            if isinstance(found, type) and issubclass(found, base) and _has_members(found, kind):
                self.imported.add(label)
                self.names.add(label)
                return label
        if (base, kind.members) in self.enums:
            return self.enums[base, kind.members]
        try:
            fits = _has_members(base("Made", dict(kind.members)), kind)
        except (TypeError, ValueError):  # of a name that Python keeps for itself
            fits = False
        if not fits:
            return "int"
        cls = self.enums[base, kind.members] = self._name(name)
        if all(_is_name(member) for member, _ in kind.members):
            lines = [f"    {member} = {_number(value, kind)}" for member, value in kind.members]
            self.classes.append("\n".join([f"class {cls}({base.__name__}):", *lines]))
        else:
            pairs = ", ".join(f"{_quoted(member)}: {_number(value, kind)}" for member, value in kind.members)
            self.classes.append(f"{cls} = {base.__name__}({_quoted(cls)}, {{{pairs}}})")
        return cls

    def _name(self, text: str) -> str:
        """Return a class name that nothing here has yet."""
        plainly = "".join(part[:1].upper() + part[1:] for part in _words(text)) or "Part"
        plainly = plainly if plainly.isidentifier() else f"Part{plainly}"
        name, number = plainly, 1
        while (
            name in self.names or name in self.fields or keyword.iskeyword(name) or hasattr(self.module, name)
        ):
            name = f"{plainly}Record" if number == 1 else f"{plainly}Record{number}"
            number += 1
        self.names.add(name)
        return name


def _labels(layout: Layout) -> set[str]:
    """Return the names of all fields, at any depth: in a class body one of them would hide a class."""
    found = {item.label for item in layout.fields}
    for item in layout.fields:
        for inner in layouts_in(item.type):
            found |= _labels(inner)
    return found


def _module_places(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, found in vars(module).items():
        if _is_name(name) and not name.startswith("_") and isinstance(found, Construct):
            yield name, found


def _places(source: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield every construct inside of one with an expression for it, the outer ones first."""
    waiting, seen = [(path, source)], set[int]()
    for text, found in waiting:  # it grows while it is read
        if id(found) in seen or not isinstance(found, Construct):
            continue
        seen.add(id(found))
        yield text, found
        parts = getattr(found, "subcons", None)
        for number, part in enumerate(parts if isinstance(parts, list | tuple) else ()):
            named = isinstance(part.name, str) and _is_name(part.name)
            direct = named and getattr(found, part.name, None) is part
            waiting.append((f"{text}.{part.name}" if direct else f"{text}.subcons[{number}]", part))
        cases = getattr(found, "cases", None)
        for key, case in cases.items() if isinstance(cases, dict) else ():
            if isinstance(key, int | str | bytes):
                plainly = int(key) if isinstance(key, int) else str(key) if isinstance(key, str) else key
                waiting.append((f"{text}.cases[{_quoted(plainly)}]", case))
        for name in ("subcon", "defersubcon", "thensubcon", "elsesubcon", "default"):
            waiting.append((f"{text}.{name}", getattr(found, name, None)))


def _import(module: str, body: str, names: tuple[str, ...]) -> str | None:
    used = [name for name in names if any(f"{name}{end}" in body for end in ("(", ")", "[", ", ", "\n", " "))]
    return f"from {module} import {', '.join(used)}" if used else None


def _has_members(cls: Any, kind: Enum | Flags) -> bool:
    members = {member.name: int(member) for member in cls}
    layout = dict(kind.members)
    return set(members.values()) == set(layout.values()) and all(
        layout.get(n) == v for n, v in members.items()
    )


def _number(value: int, kind: Enum | Flags) -> str:
    return f"{value:#x}" if isinstance(kind, Flags) else str(value)


def _quoted(value: Any) -> str:
    """Return a literal in double quotes wherever that is one."""
    return f'"{value}"' if isinstance(value, str) and _is_plain(value) else repr(value)


def _is_plain(text: str) -> bool:
    return text.isprintable() and not any(part in text for part in ('"', "\\"))


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def _union(parts: list[str]) -> str:
    """Join annotations, each once, with None at the end."""
    options = list(dict.fromkeys(option for part in parts for option in _options(part)))
    if "None" in options:
        options = [*(option for option in options if option != "None"), "None"]
    return " | ".join(options)


def _options(annotation: str) -> Iterator[str]:
    """Take a union apart, but not those inside of brackets."""
    depth, start = 0, 0
    for number, letter in enumerate(annotation):
        depth += (letter == "[") - (letter == "]")
        if not depth and annotation.startswith(" | ", number):
            yield annotation[start:number]
            start = number + 3
    yield annotation[start:]


def _words(text: str) -> list[str]:
    words = "".join(letter if f"_{letter}".isidentifier() else "_" for letter in text).split("_")
    return [word.lower() if word.isupper() and not _version(word) else word for word in words if word]


def _version(word: str) -> bool:
    return word[:1] == "V" and word[1:].isdigit()


def _singular(name: str) -> str:
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name
