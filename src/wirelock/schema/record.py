"""Record: one pydantic model for one version of a layout, parsed and built by the engines.

When the class is made its construct is read, its annotations are lowered into the Layout, and every
disagreement is a SchemaError that names the field. Nothing is parsed or built by pydantic itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError, PydanticUndefined

from wirelock.codec.template import Engine, Names, Template
from wirelock.codec.trail import Found
from wirelock.errors import DecodeError, EncodeError, Fault, SchemaError
from wirelock.layout.nodes import Constant, Layout, Nothing, Padding, Terminated, plain
from wirelock.layout.walk import walk
from wirelock.schema.around import leads_out
from wirelock.schema.columns import Columns, build_many, derivations_of, parse_many
from wirelock.schema.derive import derive_again, fill_in, fill_in_checksums, follows, left_out
from wirelock.schema.lower import Lowering, lower_fields
from wirelock.schema.making import make_of
from wirelock.schema.pose import SmallestThree, check_pose
from wirelock.schema.rules import Rule, read_rules
from wirelock.schema.scalars import JSON_CONFIG
from wirelock.schema.validators import python_validators

if TYPE_CHECKING:
    from wirelock.codec.table import Table

__all__ = ["Buffer", "Record", "derived", "layout_of"]

Buffer: TypeAlias = bytes | bytearray | memoryview

ENGINES: Final = ("generated", "reference")
_OWN_MAKING: Final = (
    "__init__", "__new__", "_complete", "model_validate", "parse", "parse_prefix", "build", "parse_many",
    "build_many",
)  # fmt: skip


def derived() -> Any:
    """Mark a field that follows from the others, so that type checkers know it may be left out.

    `count: int = derived()` beside an array counted by `count`. The mark changes nothing at run time:
    constants, counts, checksums and rebuilt fields may always be left out when a record is made by hand.
    """
    return Field(default_factory=left_out)


class Wire:
    """What a record class knows of its bytes: construct, layout, the classes it names, its engines."""

    def __init__(
        self,
        record: type[Record],
        source: Any,
        bare: Layout,
        annotations: dict[str, Any],
        rules: tuple[Rule, ...],
        pose: SmallestThree | None,
    ) -> None:
        self.record = record
        self.pose = pose
        self.source = source
        self.bare = bare
        self.annotations = annotations
        self.rules = rules
        self.validators: tuple[str, ...] = ()
        self.doc = " ".join((record.__doc__ or "").split())
        lowering = Lowering(record.__name__)
        lowering.name(record, None, "the record itself")
        _, self.validated_as = lower_fields(bare, annotations, lowering)
        self.validators = (*python_validators(record), *lowering.validators)
        self.names: Names = {
            **lowering.names,
            record.__name__: Template(record, make_of(record), self.validate),
        }
        self.layout = self.lower(bare)
        self.free = leads_out(self.layout)
        if pose is not None:
            check_pose(pose, self.layout)
        self.engines: dict[str, Engine] = {}
        self.columnar: Any = None
        """The columnar engine, once it was asked for."""
        self.derivations = derivations_of(record, self.layout)

    def lower(self, layout: Layout) -> Layout:
        """Lower a layout equal to the record's own, as it stands inside of another record."""
        record = self.record
        lowered, _ = lower_fields(layout, self.annotations, Lowering(record.__name__))
        docs = {
            name: " ".join((info.description or "").split()) for name, info in record.model_fields.items()
        }
        fields = tuple(replace(item, doc=docs.get(item.label) or item.doc) for item in lowered.fields)
        found = replace(
            layout, fields=fields, name=record.__name__, validators=self.validators, doc=self.doc, origin=None
        )
        rules = read_rules(self.rules, found)
        return replace(found, rules=rules)

    def engine(self, name: str) -> Engine:
        """Return the engine with that name, or raise; there is no silent fallback."""
        found = self.engines.get(name)
        if found is None:
            found = self.engines[name] = self._made(name)
        return found

    def _made(self, name: str) -> Engine:
        if name not in ENGINES:
            many = "; many records at once are parse_many's" if name == "columnar" else ""
            known = ", ".join(ENGINES)
            raise ValueError(f"there is no engine {name!r}: the engines of a record are {known}{many}")
        self.check_whole()
        # What an engine needs is loaded with the first one: most programs that import records make none.
        if name == "reference":
            from wirelock.codec.reference import ReferenceEngine

            return ReferenceEngine(self.source, self.layout, self.names)
        from wirelock.codec.generated import GeneratedEngine
        from wirelock.schema.direct import shorten

        engine = GeneratedEngine(self.layout, self.names)
        if not engine.validated:
            shorten(self.record, engine)
        return engine

    def check_whole(self) -> None:
        """Raise SchemaError where the record only means something inside of another one."""
        if self.free:
            raise SchemaError(
                self.record.__name__,
                "the layout reads fields around the record",
                "parse the record that holds it",
            )

    def validate(self, values: dict[str, Any]) -> Any:
        """Make a record by full validation; a complaint of a Python validator is raised as Found."""
        try:
            return self.record.model_validate(values)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
            raise Found(Fault("validator", place.lstrip("."), first["msg"], "")) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError) as problem:
            # Of a validator that did not expect these values; bytes raise nothing but DecodeError.
            told = f"{type(problem).__name__} in a Python validator: {problem}"
            raise Found(Fault("validator", "", told, "")) from problem


class Record(BaseModel):
    """One version of a record: `class RotationV1(Record, layout=Struct(...), rules=(...))`.

    Fields are the layout's named fields, in its order. A record is frozen, compares by value, and dumps
    to JSON without loss. `layout` is the construct, to be used inside other layouts. `pose` declares that
    the record is a quaternion, for derived columns and exported codecs.

    Raises SchemaError when the class is made and its fields, constraints or rules do not fit the layout.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        **JSON_CONFIG,
        protected_namespaces=(),
        validate_default=True,
        defer_build=True,
    )

    layout: ClassVar[Any]
    __wirelock__: ClassVar[Wire]
    __bare__: ClassVar[Layout]
    __rules__: ClassVar[tuple[Rule, ...]]
    __pose__: ClassVar[SmallestThree | None]

    def __init_subclass__(
        cls,
        *,
        layout: Any = None,
        rules: Iterable[Rule] = (),
        pose: SmallestThree | None = None,
        **options: Any,
    ) -> None:
        super().__init_subclass__(**options)
        if getattr(cls, "layout", None) is not None:
            raise SchemaError(
                cls.__name__, "a record cannot extend another record's layout", "derive from Record"
            )
        if layout is None:
            for word, given in (("rules", rules), ("a pose", pose)):
                if given:
                    raise SchemaError(cls.__name__, f"{word} without a layout", "give layout=Struct(...)")
            return
        for name in _OWN_MAKING:
            if name in cls.__dict__:
                told = "a record cannot replace how it is made, parsed or built"
                raise SchemaError(f"{cls.__name__}.{name}", told, "give the method another name")
        cls.layout = layout
        bare = _bare_layout(cls, layout)
        _check_names(cls, bare)
        cls.__bare__ = bare
        cls.__rules__ = (rules,) if isinstance(rules, Rule) else tuple(rules)
        cls.__pose__ = pose

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        bare = cls.__dict__.get("__bare__")
        if bare is None:
            return
        _check_config(cls)
        if not cls.__pydantic_fields_complete__:
            try:
                cls.model_rebuild(_parent_namespace_depth=4)
            except NameError as problem:
                told = f"an annotation cannot be read: {problem}".splitlines()[0]
                raise SchemaError(cls.__name__, told, "define or import it before the class") from None
        _check_fields(cls, bare)
        annotations = {
            name: (info.annotation, tuple(info.metadata)) for name, info in cls.model_fields.items()
        }
        cls.__wirelock__ = Wire(cls, cls.layout, bare, annotations, cls.__rules__, cls.__pose__)
        for item in cls.__wirelock__.layout.fields:
            if item.in_record:
                _set_field(cls, item, cls.__wirelock__.validated_as[item.label])
        cls.model_rebuild(force=True)
        _check_defaults(cls)

    @classmethod
    def parse(cls, data: Buffer, *, engine: str = "generated") -> Self:
        """Return the record that all of `data` is. Raises DecodeError with the one fault otherwise."""
        try:
            return engine_of(cls, engine).parse(as_bytes(data))  # type: ignore[no-any-return]
        except Found as found:
            raise DecodeError(cls.__name__, found.fault) from None

    @classmethod
    def parse_prefix(cls, data: Buffer, *, engine: str = "generated") -> tuple[Self, int]:
        """Return the record at the start of `data` and how many bytes it took. Raises DecodeError."""
        try:
            return engine_of(cls, engine).parse_prefix(as_bytes(data))
        except Found as found:
            raise DecodeError(cls.__name__, found.fault) from None

    @classmethod
    def parse_many(cls, data: Buffer) -> Table:
        """Return the records that lie one behind the other in `data`, as columns, and the faults of others.

        Where all records are of one size, a bad one is left out; otherwise it ends the table, because
        nothing says where the next one begins. `data` must not change meanwhile. Raises SchemaError for a
        layout that the columnar engine cannot do, or whose record may take no bytes; ImportError without
        numba and numpy.
        """
        return parse_many(wire_of(cls), data)

    @classmethod
    def build_many(
        cls,
        columns: Columns,
        *,
        offsets: Mapping[str, Any] = MappingProxyType({}),
        tags: Mapping[str, Any] = MappingProxyType({}),
    ) -> bytes:
        """Return the bytes of many records, one behind the other, after checking them again.

        `columns` is a table, or arrays by the paths that a table has; then `offsets` and `tags` are those of
        its arrays and choices, and constants and the counts of arrays may be left out. Raises EncodeError
        with the row for a record that cannot be sent, TypeError, ValueError or KeyError for columns that are
        none of this record's.
        """
        return build_many(wire_of(cls), columns, offsets, tags)

    def build(self, *, engine: str = "generated") -> bytes:
        """Return the record's bytes, after checking it again. Raises EncodeError if it cannot be sent."""
        try:
            return engine_of(type(self), engine).build(self)
        except Found as found:
            raise EncodeError(type(self).__name__, found.fault) from None

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy with other values, as pydantic does: they are checked when the copy is built.

        Counts, checksums and rebuilt fields that `update` does not name follow from the new values.
        """
        made = super().model_copy(update=update, deep=deep)
        if update:
            wire = wire_of(type(self))
            derive_again(made, wire.layout, None if wire.free else wire.engine("generated"), update)
        return made

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Fill in derived fields that were left out, then check what pydantic does not know."""
        wire = wire_of(type(self))
        fill_in(self, wire.layout)
        self.__pydantic_fields_set__.update(self.__dict__)
        if not wire.free:
            try:
                fill_in_checksums(self, wire.layout, wire.engine("generated"))
                wire.engine("generated").build(self)
            except Found as found:
                fault = found.fault
                place = f"{fault.path}: " if fault.path else ""
                raise PydanticCustomError(fault.code, "{told}", {"told": place + fault.message}) from None
        return self


# Only now, for the classes that follow: pydantic would read this whole file for the docstrings of no field.
Record.model_config["use_attribute_docstrings"] = True

_OWN = frozenset(dir(Record)) | {"layout", "schema", "json", "copy", "parse", "build"}


def wire_of(record: type[Record]) -> Wire:
    """Return what a record class knows of its bytes. Raises SchemaError for a class without a layout."""
    wire = record.__dict__.get("__wirelock__")
    if not isinstance(wire, Wire):
        raise SchemaError(record.__name__, "the class has no layout", "give layout=Struct(...)")
    return wire


def engine_of(record: type[Record], name: str) -> Engine:
    """Return a record's engine by name. Raises as wire_of and Wire.engine do."""
    try:
        return record.__wirelock__.engines[name]
    except (AttributeError, KeyError):
        return wire_of(record).engine(name)


def layout_of(record: type[Record]) -> Layout:
    """Return a record's lowered Layout: positions, types, constraints and rules."""
    return wire_of(record).layout


def source_of(record: type[Record]) -> str:
    """Return the Python source that the generated engine runs for a record."""
    engine: Any = wire_of(record).engine("generated")
    return engine.source  # type: ignore[no-any-return]


def as_bytes(data: Buffer) -> bytes:
    """Return a buffer as bytes. Raises TypeError for anything that is no buffer, such as a str or int."""
    return data if type(data) is bytes else bytes(memoryview(data))


def _bare_layout(cls: type[Record], source: Any) -> Layout:
    try:
        return walk(source)
    except SchemaError as error:
        path = f"{cls.__name__}.{error.path}" if error.path else cls.__name__
        raise SchemaError(path, error.problem, error.remedy) from None


def _check_names(cls: type[Record], layout: Layout) -> None:
    for item in layout.fields:
        if item.in_record and item.label in _OWN:
            path = f"{cls.__name__}.{item.label}"
            raise SchemaError(path, "the name is one of the record's own", f"rename it, as {item.label}_")


def _check_config(cls: type[Record]) -> None:
    wanted = Record.model_config
    for name in {**wanted, **cls.model_config}:
        if name not in ("title", "json_schema_extra") and cls.model_config.get(name) != wanted.get(name):
            raise SchemaError(
                cls.__name__, f"model_config sets {name}", "leave it out: it would change records"
            )
    made = cls.__pydantic_decorators__
    for name in (*made.field_serializers, *made.model_serializers, *made.computed_fields):
        told = "a serializer or computed field would change JSON so that it does not load back"
        raise SchemaError(f"{cls.__name__}.{name}", told, "use a plain method or property")
    for name, info in cls.model_fields.items():
        for option in ("alias", "validation_alias", "serialization_alias", "exclude"):
            if getattr(info, option):
                told = f"the field has an option {option}"
                raise SchemaError(f"{cls.__name__}.{name}", told, "leave it out: it would change JSON")


def _check_fields(cls: type[Record], layout: Layout) -> None:
    wanted = [item.label for item in layout.fields if item.in_record]
    found = list(cls.model_fields)
    missing = [name for name in wanted if name not in found]
    extra = [name for name in found if name not in wanted]
    if missing:
        told = f"the layout has {', '.join(missing)}, the record has not"
        told += f"; the record has {', '.join(extra)}, the layout has not" if extra else ""
        raise SchemaError(f"{cls.__name__}.{missing[0]}", told, "annotate every field of the layout")
    if extra:
        told = f"the record has {', '.join(extra)}, the layout has not"
        raise SchemaError(f"{cls.__name__}.{extra[0]}", told, "leave it out, or add it to the layout")
    if found != wanted:
        first = next(a for a, b in zip(found, wanted, strict=True) if a != b)
        raise SchemaError(
            f"{cls.__name__}.{first}", "the record's order is not the layout's", f"write {', '.join(wanted)}"
        )


def _check_defaults(cls: type[Record]) -> None:
    for name, info in cls.model_fields.items():
        if info.is_required() or info.default is PydanticUndefined:
            continue
        try:
            cls.__pydantic_validator__.validate_assignment(cls.model_construct(), name, info.default)
        except ValidationError as error:
            wrong = [found["msg"] for found in error.errors(include_url=False) if found["loc"][:1] == (name,)]
            if wrong:
                told = f"the default {info.default!r} is no value of the field: {wrong[0]}"
                raise SchemaError(f"{cls.__name__}.{name}", told, "give another, or none") from None


def _set_field(cls: type[Record], item: Any, annotation: Any) -> None:
    """Give a pydantic field the annotation to validate, and a default where its value is implied."""
    info = cls.__pydantic_fields__[item.label]
    kind = plain(item.type)
    info.annotation, info.metadata = annotation, []
    if follows(item):
        if info.default_factory is not left_out and not info.is_required():
            raise SchemaError(
                f"{cls.__name__}.{item.label}", "a derived field cannot have a default", "use derived()"
            )
        info.default_factory, info.validate_default = left_out, False
    elif item.default is not None and info.is_required():
        info.default = item.default
    elif isinstance(kind, Constant | Nothing | Padding | Terminated):
        info.default = kind.value if isinstance(kind, Constant) else None
        info.default_factory = None
    elif info.default_factory is left_out:
        raise SchemaError(
            f"{cls.__name__}.{item.label}", "no other field implies this one", "leave out derived()"
        )
