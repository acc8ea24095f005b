"""Protocol: the versions of one record and the tag that tells them apart. Registry: all of a project's.

Reading the tag is the only dispatch there is: a lookup of its bytes. Nothing registers itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from wirelock.codec.trail import Found, fault_at, value_text
from wirelock.errors import DecodeError, Fault, SchemaError
from wirelock.layout.canonical import digest
from wirelock.layout.nodes import Constant, Integer, Layout, plain
from wirelock.layout.sizes import size_of
from wirelock.schema.columns import PacketTables, Places, parse_packets
from wirelock.schema.keys import check_keys
from wirelock.schema.migration import Migration, Migrations
from wirelock.schema.negotiation import Disagreement, Hello, agree, offer
from wirelock.schema.record import Buffer, Record, as_bytes, engine_of, layout_of, wire_of
from wirelock.schema.tags import bits_at, constant_octets

__all__ = ["Negotiated", "Parsed", "Protocol", "Registry"]


class Parsed(NamedTuple):
    """A record with the protocol and version that its bytes named."""

    protocol: Protocol
    version: int
    record: Record

    @property
    def label(self) -> str:
        """Such as `snapshot v2`."""
        return self.protocol.label(self.version)


class Negotiated(NamedTuple):
    """The version that two peers agree on, and the higher ones that they have under one number, not alike."""

    version: int
    disagreements: tuple[Disagreement, ...]


class Protocol:
    """The versions of one record.

    `tag` names the fields that every version's layout begins with, all constants: first what they
    share (a magic), last what tells them apart (a version). Without a tag the caller says which
    version bytes are. With `repeats`, a datagram holds one or more records one behind the other. `keys`
    name the fields by which two sessions are compared: which record is which (`tick`), and which element
    of an array (`entities[].id`); each version has those of them that it has. `migrations` lead from each
    version to the next and back. A version in `retired` is still read, for old recordings, but no longer
    offered to peers.

    Raises SchemaError where the versions' layouts do not bear that out.
    """

    def __init__(
        self,
        name: str,
        versions: Mapping[int, type[Record]],
        *,
        tag: tuple[str, ...] = (),
        repeats: bool = False,
        keys: tuple[str, ...] = (),
        migrations: Iterable[Migration] = (),
        retired: Iterable[int] = (),
    ) -> None:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*(-[a-z0-9_]+)*", name):
            name = str(name)
            raise SchemaError(name, "a protocol's name is lower-case letters, digits, _ and -", "rename it")
        if not isinstance(versions, Mapping) or not versions:
            raise SchemaError(name, "a protocol without versions", "give {1: RecordV1}")
        _check_lists(name, tag, keys, migrations, retired)
        for version, record in versions.items():
            if isinstance(version, bool) or not isinstance(version, int) or version < 0:
                raise SchemaError(name, f"the version {version!r}", "number versions 1, 2, ...")
            if not (isinstance(record, type) and issubclass(record, Record)):
                raise SchemaError(f"{name} v{version}", f"{record!r} is no Record class")
            if wire_of(record).free:
                raise SchemaError(
                    f"{name} v{version}", f"{record.__name__} only means something inside another record"
                )
            if repeats and size_of(layout_of(record)).lowest == 0:
                raise SchemaError(
                    f"{name} v{version}", "a record that may take no bytes cannot repeat", "drop repeats"
                )
        self.name = name
        self.versions: Mapping[int, type[Record]] = MappingProxyType(dict(sorted(versions.items())))
        self.tag = (tag,) if isinstance(tag, str) else tuple(tag)
        self.repeats = repeats
        self.retired = frozenset(retired)
        for version in self.retired - self.versions.keys():
            raise SchemaError(name, f"v{version} is retired, but there is none", "leave it out of retired")
        records = dict(self.versions)
        self.migrations = Migrations(name, list(self.versions), records, migrations)
        self._numbers = {record: version for version, record in self.versions.items()}
        if len(self._numbers) < len(self.versions):
            raise SchemaError(name, "two versions have one Record class", "give each a class of its own")
        self.keys = (keys,) if isinstance(keys, str) else tuple(keys)
        check_keys(name, map(self.layout, self.versions), self.keys)
        self._by_tag: dict[bytes, int] = {}
        self._tag_size = 0
        if self.tag:
            self._read_tags()

    def __repr__(self) -> str:
        return f"Protocol({self.name!r}, versions={list(self.versions)})"

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "versions": dict(self.versions)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, versions=MappingProxyType(state["versions"]))

    def label(self, version: int) -> str:
        """Return how messages name one version: `snapshot v2`."""
        return f"{self.name} v{version}"

    def layout(self, version: int) -> Layout:
        """Return the lowered layout of one version. Raises KeyError for one that does not exist."""
        return layout_of(self.versions[version])

    def digest(self, version: int) -> str:
        """Return the digest of one version: its layout, rules and nested records, the tag and `repeats`."""
        return digest(self.layout(version), self.tag, self.repeats)

    @property
    def tags(self) -> Mapping[bytes, int]:
        """The bytes that each version begins with; empty for an untagged protocol."""
        return MappingProxyType(self._by_tag)

    # -- parsing

    def parse(
        self,
        data: Buffer,
        *,
        version: int | None = None,
        as_version: int | None = None,
        allow: Collection[str] = (),
        engine: str = "generated",
    ) -> Record:
        """Return the one record that all of `data` is, in the version that its tag names, or `version`.

        With `as_version` it is brought to that version, as `migrate` does, and raises as that does.
        Raises DecodeError (`foreign` where the magic is another's, `unknown-version`, or the record's own
        fault) and TypeError where an untagged protocol is not told the version.
        """
        data = as_bytes(data)
        version = self.version_of(data) if version is None else self.known(version)
        try:
            record: Record = engine_of(self.versions[version], engine).parse(data)
        except Found as found:
            raise DecodeError(self.label(version), found.fault) from None
        return record if as_version is None else self.migrate(record, as_version, allow=allow)

    def parse_all(
        self, data: Buffer, *, version: int | None = None, engine: str = "generated"
    ) -> Iterator[Parsed]:
        """Yield each record of a datagram: exactly one, or all of them if the protocol `repeats`.

        Raises as parse does; a fault's bytes count from the start of `data`, and its path begins with
        the record's number where the protocol repeats.
        """
        data = as_bytes(data)
        if not self.repeats:
            which = self.version_of(data) if version is None else version
            yield Parsed(self, which, self.parse(data, version=which, engine=engine))
            return
        at, number = 0, 0
        while at < len(data) or not number:
            try:
                which = self.version_of(data, at) if version is None else self.known(version)
                record, size = engine_of(self.versions[which], engine).parse_prefix(data, at)
            except Found as found:
                raise DecodeError(self.label(which), found.fault.within(f"[{number}]", at)) from None
            except DecodeError as error:
                fault = error.fault.within(f"[{number}]", at)
                if number and fault.code == "foreign":
                    fault = replace(fault, code="constant")  # the datagram is ours: its first record was
                raise DecodeError(error.record, fault) from None
            yield Parsed(self, which, record)
            at, number = at + size, number + 1

    def parse_packets(
        self, data: Buffer, offsets: Places, lengths: Places, *, version: int | None = None
    ) -> PacketTables:
        """Return what packets in a buffer hold: a table a version, faults, foreign packets.

        Packet i is the `lengths[i]` bytes at `offsets[i]`; verdicts are those of parse_all, and so are
        errors; besides, ValueError for places outside of the buffer, SchemaError for a layout that the
        columnar engine cannot do, ImportError without numba and numpy. `data` must not change meanwhile.
        """
        return parse_packets(self, data, offsets, lengths, version)

    def version_of(self, data: bytes, at: int = 0) -> int:
        """Return the version that the tag at byte `at` names. Raises as parse does."""
        if not self.tag:
            raise TypeError(f"{self.name} has no tag: say which version the bytes are, with version=")
        version = self._by_tag.get(data[at : at + self._tag_size])
        if version is None:
            raise DecodeError(self.name, self._tag_fault(data[at : at + self._tag_size]))
        return version

    def known(self, version: int) -> int:
        """Return a version that there is. Raises ValueError for any other."""
        if type(version) is not int or version not in self.versions:
            known = ", ".join(map(str, self.versions))
            raise ValueError(f"{self.name} has no version {version}: its versions are {known}")
        return version

    # -- versions

    def number_of(self, record: Record) -> int:
        """Return the version of a record. Raises TypeError for one that is none of this protocol's."""
        try:
            return self._numbers[type(record)]
        except KeyError:
            raise TypeError(f"a {type(record).__name__} is no version of {self.name}") from None

    def migrate(self, record: Record, version: int, *, allow: Collection[str] = ()) -> Record:
        """Return a record in another version, by the migrations between.

        `allow` names what may be lost on the way. Raises MigrationError where a step loses more, or is
        missing; ValueError for a version that there is not, TypeError for a record of another protocol.
        """
        return self.migrations.migrate(record, self.number_of(record), self.known(version), allow)

    def latest(self, record: Record, *, allow: Collection[str] = ()) -> Record:
        """Return a record in the newest version. Raises as migrate does."""
        return self.migrate(record, max(self.versions), allow=allow)

    def downgrade(self, record: Record, version: int, *, allow: Collection[str] = ()) -> Record:
        """Return a record in an older version. Raises as migrate does; ValueError for a newer version."""
        if self.known(version) > self.number_of(record):
            raise ValueError(f"v{version} of {self.name} is newer than the record")
        return self.migrate(record, version, allow=allow)

    def as_of(self, version: int) -> Protocol:
        """Return the protocol as a peer has it for which that version is the newest."""
        versions = {number: record for number, record in self.versions.items() if number <= version}
        if len(versions) == len(self.versions):
            return self
        migrations = [item for item in self.migrations if item.new in versions]
        return Protocol(
            self.name,
            versions,
            tag=self.tag,
            repeats=self.repeats,
            migrations=migrations,
            retired=self.retired & versions.keys(),
        )

    def hello(self) -> Hello:
        """Return what to tell a peer: the versions that are not retired, with fingerprints."""
        offered = [version for version in self.versions if version not in self.retired]
        around = [list(self.tag), self.repeats]
        offers = (
            offer(version, self.layout(version), self.digest(version), around) for version in offered[::-1]
        )
        return Hello(self.name, tuple(offers))

    def negotiate(self, peer: Hello | str | bytes) -> Negotiated:
        """Return the highest version that a peer's hello has with the same layout.

        `disagreements` of the result are the higher versions that both have, but not alike. Raises
        NegotiationError where there is no common version, with the version and the field that differ, and
        for a text that is no hello.
        """
        theirs = peer if isinstance(peer, Hello) else Hello.from_json(peer)
        return Negotiated(*agree(self.hello(), theirs))

    # -- the tag

    def _read_tags(self) -> None:
        for version in self.versions:
            fields = self.layout(version).fields[: len(self.tag)]
            where = self.label(version)
            if tuple(item.label for item in fields) != self.tag:
                raise SchemaError(
                    where, f"the layout does not begin with {', '.join(self.tag)}", "put the tag first"
                )
            for item in fields:
                if not isinstance(plain(item.type), Constant):
                    raise SchemaError(
                        f"{where}: {item.label}", "a field of the tag is not constant", "make it a Const"
                    )
            bits = sum(size_of(item.type).lowest for item in fields)
            if bits % 8:
                raise SchemaError(where, f"the tag takes {bits} bits", "let the tag end with a byte")
            last_constant = plain(fields[-1].type)
            assert isinstance(last_constant, Constant)
            if isinstance(last_constant.value, int) and last_constant.value != version:
                told = f"the version on the wire is {last_constant.value}"
                raise SchemaError(f"{where}: {fields[-1].label}", told, "number versions as the wire does")
            octets = constant_octets([plain(item.type) for item in fields])
            if octets in self._by_tag:
                other = self.label(self._by_tag[octets])
                raise SchemaError(where, f"the tag is that of {other}", "give each version a tag of its own")
            first = self.layout(next(iter(self.versions))).fields[: len(self.tag)]
            for number, (item, other_item) in enumerate(zip(fields, first, strict=True)):
                a, b = plain(item.type), plain(other_item.type)
                assert isinstance(a, Constant) and isinstance(b, Constant)
                last = number == len(self.tag) - 1
                if (
                    a.type != b.type
                    or item.position != other_item.position
                    or (not last and a.value != b.value)
                ):
                    raise SchemaError(
                        f"{where}: {item.label}", "the versions do not share this part of the tag"
                    )
            self._by_tag[octets], self._tag_size = version, bits // 8

    def _tag_fault(self, found: bytes) -> Fault:
        """Say why bytes are no tag of ours: another's magic, cut short, or an unknown version."""
        from wirelock.codec.raw import scalar_from_bits  # when the first fault is met

        bit, known = 0, next(iter(self._by_tag))
        for number, item in enumerate(self.layout(next(iter(self.versions))).fields[: len(self.tag)]):
            constant = plain(item.type)
            assert isinstance(constant, Constant)
            start, end = bit // 8, (bit + size_of(constant).lowest + 7) // 8
            # Bytes are a magic, and no version, also where they are all of the tag.
            is_version = number == len(self.tag) - 1 and isinstance(constant.type, Integer)
            if len(found) < end:
                if not is_version and found[start:] != known[start : len(found)]:
                    text = value_text(constant.value)
                    return fault_at("foreign", item.label, bit, constant, found[start:].hex(" "), text)
                return fault_at("truncated", item.label, bit, constant, len(found) - start, end - start)
            raw = bits_at(found, bit, size_of(constant).lowest)
            if isinstance(constant.type, Integer):
                value: Any = scalar_from_bits(raw, constant.type)[0]
            else:
                value = raw.to_bytes(size_of(constant).lowest // 8, "big")
            if is_version:
                return fault_at("unknown-version", item.label, bit, constant, value, self._versions_text())
            if value != constant.value:
                return fault_at(
                    "foreign", item.label, bit, constant, value_text(value), value_text(constant.value)
                )
            bit += size_of(constant).lowest
        raise AssertionError(f"{self.name}: the tag {found.hex(' ')} is known")

    def _versions_text(self) -> str:
        values = []
        for version in self.versions:
            constant = plain(self.layout(version)[self.tag[-1]].type)
            assert isinstance(constant, Constant)
            values.append(value_text(constant.value))
        return ", ".join(values)


def _check_lists(name: str, tag: Any, keys: Any, migrations: Any, retired: Any) -> None:
    for word, given in (("tag", tag), ("keys", keys)):
        parts = (given,) if isinstance(given, str) else given
        if not isinstance(parts, tuple | list) or not all(isinstance(part, str) for part in parts):
            raise SchemaError(name, f"{word} is {given!r}", f'name fields: {word}=("a", "b")')
    for word, listed in (("migrations", migrations), ("retired", retired)):
        if not isinstance(listed, Iterable):
            raise SchemaError(name, f"{word} is {listed!r}", f"give a list: {word}=[...]")


class Registry:
    """The protocols of a project, by name. Two tagged protocols cannot begin with the same bytes."""

    def __init__(self, *protocols: Protocol) -> None:
        self._protocols: dict[str, Protocol] = {}
        tags: dict[bytes, str] = {}
        for protocol in protocols:
            if not isinstance(protocol, Protocol):
                raise SchemaError("", f"{protocol!r} is no Protocol", "write Registry(protocol, ...)")
            if protocol.name in self._protocols:
                raise SchemaError(protocol.name, "two protocols have this name", "rename one of them")
            self._protocols[protocol.name] = protocol
            for tag, version in protocol.tags.items():
                for known, label in tags.items():
                    if known.startswith(tag) or tag.startswith(known):
                        raise SchemaError(
                            protocol.label(version), f"its tag begins as that of {label}", "change a magic"
                        )
            tags |= {tag: protocol.label(version) for tag, version in protocol.tags.items()}

    def __iter__(self) -> Iterator[Protocol]:
        return iter(self._protocols.values())

    def __len__(self) -> int:
        return len(self._protocols)

    def __contains__(self, name: object) -> bool:
        return name in self._protocols

    def __getitem__(self, name: str) -> Protocol:
        """Return the protocol of that name. Raises KeyError with the names that there are."""
        if name not in self._protocols:
            raise KeyError(f"no protocol {name!r}: there are {', '.join(self._protocols) or 'none'}")
        return self._protocols[name]

    def find(self, text: str) -> tuple[Protocol, int | None]:
        """Return what `rotation` or `rotation/v1` names. Raises KeyError with what there is."""
        name, slash, version = text.partition("/")
        protocol = self[name]
        if not slash:
            return protocol, None
        known = {f"v{number}": number for number in protocol.versions}
        if version not in known:
            raise KeyError(f"{name} has no version {version!r}: there are {', '.join(known)}")
        return protocol, known[version]

    def parse_all(self, data: Buffer, *, engine: str = "generated") -> Iterator[Parsed]:
        """Yield the records of a datagram of whichever tagged protocol it is.

        Raises DecodeError; `foreign` where it is none of them.
        """
        data = as_bytes(data)
        yield from self.recognised(data).parse_all(data, engine=engine)

    def parse(self, data: Buffer, *, engine: str = "generated") -> Parsed:
        """Return the one record that all of `data` is. Raises as parse_all does."""
        data = as_bytes(data)
        protocol = self.recognised(data)
        version = protocol.version_of(data)
        return Parsed(protocol, version, protocol.parse(data, version=version, engine=engine))

    def recognised(self, data: bytes) -> Protocol:
        """Return the protocol whose tag the bytes begin with. Raises DecodeError as parse_all does."""
        refusals: list[tuple[str, Fault]] = []  # an error that its own frame holds is freed late
        for protocol in self:
            if protocol.tag:
                try:
                    protocol.version_of(data)
                except DecodeError as error:
                    refusals.append((error.record, error.fault))
                else:
                    return protocol
        for record, fault in refusals:
            if fault.code != "foreign":
                raise DecodeError(record, fault)
        found = data[:8].hex(" ") or "nothing"
        known = ", ".join(sorted(tag.hex(" ") for protocol in self for tag in protocol.tags)) or "any tag"
        raise DecodeError("registry", Fault("foreign", "", found, known, 0))
