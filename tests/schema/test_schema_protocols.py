"""Protocols and registries: tags, versions, repeats, and how each refusal reads."""

import construct
import pytest
from construct import BitsInteger, BitStruct, Byte, Int16ub, Int16ul, Struct, this

from protocol import PROTOCOLS
from tests.schema.record_maker import make
from wirelock import DecodeError, Fault, Parsed, Protocol, Registry, SchemaError

ENGINES = ("generated", "reference")


def tagged(version, *, magic=b"WS", name=None, extra=("x" / Byte,)):
    """A record of a magic, a version and a byte."""
    source = Struct("magic" / construct.Const(magic), "version" / construct.Const(version, Byte), *extra)
    annotations = {"magic": bytes, "version": int} | {part.name: int for part in extra}
    return make(name or f"V{version}", source, annotations)


V1, V2 = tagged(1), tagged(2, extra=("x" / Byte, "y" / Byte))
ONE = Protocol("one", {2: V2, 1: V1}, tag=("magic", "version"))
MANY = Protocol("many", {1: V1, 2: V2}, tag=("magic", "version"), repeats=True)
PLAIN = Protocol(
    "plain", {1: make("P1", Struct("x" / Byte), {"x": int}), 2: make("P2", Struct("x" / Int16ul), {"x": int})}
)


def words(name, first, second):
    return Protocol(name, {1: first, 2: second}, tag=("m", "v"))


def pair(m, v, wrap=Struct):
    return make(f"R{v.value}", wrap("m" / m, "v" / v), {"m": int, "v": int})


LITTLE = words(
    "little", *(pair(construct.Const(0x1234, Int16ul), construct.Const(v, Int16ub)) for v in (1, 2))
)
NIBBLES = words(
    "nibbles",
    *(
        pair(construct.Const(5, BitsInteger(4)), construct.Const(v, BitsInteger(4)), BitStruct)
        for v in (1, 2)
    ),
)
SIGNED = words(
    "signed",
    *(pair(construct.Const(-2, construct.Int8sb), construct.Const(v, construct.Int16sl)) for v in (1, 2)),
)
SPLIT = words(
    "split",
    *(
        pair(construct.Const(0xABC, BitsInteger(12)), construct.Const(v, BitsInteger(4)), BitStruct)
        for v in (1, 2)
    ),
)
LONE = Protocol(
    "lone", {v: make(f"L{v}", Struct("v" / construct.Const(v, Byte)), {"v": int}) for v in (1, 2)}, tag="v"
)
BARE = Protocol(
    "bare",
    {1: make("B1", Struct("m" / construct.Const(b"BB"), "x" / Byte), {"m": bytes, "x": int})},
    tag=("m",),
)


def fault_of(run, *arguments, **options):
    with pytest.raises(DecodeError) as caught:
        found = run(*arguments, **options)
        if not hasattr(found, "build"):
            list(found)
    return caught.value


# -- the tag

TAGS = {
    # (bytes, record in the message, code, path, found, allowed, byte)
    "nothing": (ONE, "", "one", "truncated", "magic", "0", "2", 0),
    "half a magic": (ONE, "57", "one", "truncated", "magic", "1", "2", 0),
    "half another magic": (ONE, "58", "one", "foreign", "magic", "58", "57 53", 0),
    "a magic and no version": (ONE, "5753", "one", "truncated", "version", "0", "1", 2),
    "another magic": (ONE, "5754 01 05", "one", "foreign", "magic", "57 54", "57 53", 0),
    "another magic alone": (ONE, "5754", "one", "foreign", "magic", "57 54", "57 53", 0),
    "an unknown version": (ONE, "5753 03 05", "one", "unknown-version", "version", "3", "1, 2", 2),
    "an unknown version alone": (ONE, "5753 ff", "one", "unknown-version", "version", "255", "1, 2", 2),
    "a version and no more": (ONE, "5753 01", "one v1", "truncated", "x", "0", "1", 3),
    "the other version and less": (ONE, "5753 02 05", "one v2", "truncated", "y", "0", "1", 4),
    "more": (ONE, "5753 01 05 06", "one v1", "trailing-bytes", "", "1", "0", 4),
    "little-endian, nothing": (LITTLE, "", "little", "truncated", "m", "0", "2", 0),
    "little-endian, half a magic": (LITTLE, "34", "little", "truncated", "m", "1", "2", 0),
    "little-endian, half another": (LITTLE, "12", "little", "foreign", "m", "12", "4660", 0),
    "little-endian, another": (LITTLE, "1234 0001", "little", "foreign", "m", "13330", "4660", 0),
    "little-endian, no version": (LITTLE, "3412", "little", "truncated", "v", "0", "2", 2),
    "little-endian, half a version": (LITTLE, "3412 00", "little", "truncated", "v", "1", "2", 2),
    "little-endian, unknown": (LITTLE, "3412 0003", "little", "unknown-version", "v", "3", "1, 2", 2),
    "nibbles, nothing": (NIBBLES, "", "nibbles", "truncated", "m", "0", "1", 0),
    "nibbles, another": (NIBBLES, "61", "nibbles", "foreign", "m", "6", "5", 0),
    "nibbles, unknown": (NIBBLES, "53", "nibbles", "unknown-version", "v", "3", "1, 2", 0),
    "split, nothing": (SPLIT, "", "split", "truncated", "m", "0", "2", 0),
    "split, half": (SPLIT, "ab", "split", "truncated", "m", "1", "2", 0),
    "split, half of another": (SPLIT, "ac", "split", "foreign", "m", "ac", "2748", 0),
    "split, another": (SPLIT, "abd1", "split", "foreign", "m", "2749", "2748", 0),
    "split, unknown": (SPLIT, "abc3", "split", "unknown-version", "v", "3", "1, 2", 1),
    "signed, unknown": (SIGNED, "fe ffff", "signed", "unknown-version", "v", "-1", "1, 2", 1),
    "signed, another": (SIGNED, "fd ffff", "signed", "foreign", "m", "-3", "-2", 0),
    "a version alone": (LONE, "03", "lone", "unknown-version", "v", "3", "1, 2", 0),
    "a version alone, nothing": (LONE, "", "lone", "truncated", "v", "0", "1", 0),
    "a magic alone": (BARE, "4242", "bare v1", "truncated", "x", "0", "1", 2),
    # Bytes are a magic, no version, also where they are all of the tag.
    "a magic alone, another": (BARE, "4243", "bare", "foreign", "m", "42 43", "42 42", 0),
    "a magic alone, half another": (BARE, "43", "bare", "foreign", "m", "43", "42 42", 0),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", TAGS)
def test_what_a_tag_may_say(name, engine):
    protocol, octets, record, *fault = TAGS[name]
    error = fault_of(protocol.parse, bytes.fromhex(octets), engine=engine)
    assert error.record == record
    assert [error.code, error.path, error.found, error.allowed, error.byte] == fault


def test_a_version_below_a_byte_names_its_bits():
    assert fault_of(NIBBLES.parse, b"\x53").pieces == ((0, 0x0F),)
    assert fault_of(SPLIT.parse, b"\xab\xc3").pieces == ((1, 0x0F),)


GOOD = {
    "the first": (ONE, "5753 01 05", 1),
    "the second": (ONE, "5753 02 05 06", 2),
    "little-endian": (LITTLE, "3412 0002", 2),
    "nibbles": (NIBBLES, "52", 2),
    "split": (SPLIT, "abc1", 1),
    "signed": (SIGNED, "fe 0200", 2),
    "a version alone": (LONE, "02", 2),
    "a magic alone": (BARE, "4242 05", 1),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", GOOD)
def test_the_tag_chooses_the_version(name, engine):
    protocol, octets, version = GOOD[name]
    data = bytes.fromhex(octets)
    found = protocol.parse(data, engine=engine)
    assert type(found) is protocol.versions[version]
    assert found.build() == data
    assert protocol.version_of(data) == version
    assert list(protocol.parse_all(data, engine=engine)) == [Parsed(protocol, version, found)]
    assert protocol.parse(data, version=version, engine=engine) == found
    assert protocol.parse(memoryview(data)) == protocol.parse(bytearray(data)) == found


def test_tags_are_the_bytes_that_versions_begin_with():
    assert dict(ONE.tags) == {b"WS\1": 1, b"WS\2": 2}
    assert dict(LITTLE.tags) == {b"\x34\x12\0\1": 1, b"\x34\x12\0\2": 2}
    assert dict(SPLIT.tags) == {b"\xab\xc1": 1, b"\xab\xc2": 2}
    assert dict(PLAIN.tags) == {}
    assert list(ONE.versions) == [1, 2]


def test_a_stated_version_is_the_one_that_is_read():
    error = fault_of(ONE.parse, b"WS\2\5\6", version=1)
    assert str(error) == "one v1: version: 2 is not 1 (byte 2)"


@pytest.mark.parametrize("engine", ENGINES)
def test_without_a_tag_the_version_must_be_stated(engine):
    assert PLAIN.parse(b"\5", version=1, engine=engine).x == 5
    assert PLAIN.parse(b"\5\0", version=2, engine=engine).x == 5
    for run in (PLAIN.parse, lambda data: list(PLAIN.parse_all(data)), PLAIN.version_of):
        with pytest.raises(
            TypeError, match="plain has no tag: say which version the bytes are, with version="
        ):
            run(b"\5")
    assert (
        str(fault_of(PLAIN.parse, b"", version=2, engine=engine))
        == "plain v2: x: 2 bytes wanted, 0 left (byte 0)"
    )


@pytest.mark.parametrize("protocol", [ONE, MANY, PLAIN], ids=lambda protocol: protocol.name)
def test_an_unknown_version_is_the_caller_s_mistake(protocol):
    for run in (protocol.parse, lambda data, version: list(protocol.parse_all(data, version=version))):
        with pytest.raises(ValueError, match=f"{protocol.name} has no version 9: its versions are 1, 2"):
            run(b"WS\1\5", version=9)


# -- repeats

REPEATS = {
    "one": ("5753 01 05", [1], None),
    "three": ("5753 01 05  5753 02 06 07  5753 01 08", [1, 2, 1], None),
    "nothing at all": ("", [], ("many", "truncated", "[0].magic", 0)),
    "a second cut in its magic": ("5753 01 05  57", [1], ("many", "truncated", "[1].magic", 4)),
    "a second cut behind its magic": ("5753 01 05  5753", [1], ("many", "truncated", "[1].version", 6)),
    "a second cut behind its tag": ("5753 01 05  5753 02", [1], ("many v2", "truncated", "[1].x", 7)),
    "a third cut": ("5753 01 05  5753 01 05  5753 02 06", [1, 1], ("many v2", "truncated", "[2].y", 12)),
    "a second of an unknown version": (
        "5753 01 05  5753 09 05",
        [1],
        ("many", "unknown-version", "[1].version", 6),
    ),
    "a first of another magic": ("5858 01 05", [], ("many", "foreign", "[0].magic", 0)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", REPEATS)
def test_records_that_follow_each_other(name, engine):
    octets, versions, fault = REPEATS[name]
    data, found = bytes.fromhex(octets), []
    if fault is None:
        found = list(MANY.parse_all(data, engine=engine))
        assert b"".join(parsed.record.build() for parsed in found) == data
    else:
        with pytest.raises(DecodeError) as caught:
            found.extend(MANY.parse_all(data, engine=engine))
        error = caught.value
        assert (error.record, error.code, error.path, error.byte) == fault
        records = MANY.parse_all(data, engine=engine)
        found = [next(records) for _ in versions]
    assert [parsed.version for parsed in found] == versions
    assert [parsed.label for parsed in found] == [f"many v{version}" for version in versions]


def test_what_follows_a_record_of_ours_is_a_fault_whatever_its_magic():
    """`foreign` is counted and forgotten: behind a record of ours that would be bytes lost in silence."""
    with pytest.raises(DecodeError) as caught:
        list(MANY.parse_all(b"WS\1\5garbage"))
    assert caught.value.code != "foreign"
    assert (caught.value.path, caught.value.byte) == ("[1].magic", 4)


def test_a_stated_version_repeats_too():
    found = list(MANY.parse_all(b"WS\1\5WS\1\6", version=1))
    assert [parsed.record.x for parsed in found] == [5, 6]
    assert (
        str(fault_of(MANY.parse_all, b"WS\1\5WS\2\6\7", version=1))
        == "many v1: [1].version: 2 is not 1 (byte 6)"
    )


def test_parse_takes_exactly_one_record_even_of_those_that_repeat():
    assert fault_of(MANY.parse, b"WS\1\5WS\1\6").code == "trailing-bytes"


# -- what is no protocol

NO_PROTOCOLS = {
    "a capital": (lambda: Protocol("P", {1: V1}), "a protocol's name is lower-case letters"),
    "no name": (lambda: Protocol("", {1: V1}), "a protocol's name is lower-case letters"),
    "a space": (lambda: Protocol("a b", {1: V1}), "a protocol's name is lower-case letters"),
    "a slash": (lambda: Protocol("a/b", {1: V1}), "a protocol's name is lower-case letters"),
    "a digit first": (lambda: Protocol("1a", {1: V1}), "a protocol's name is lower-case letters"),
    "a hyphen last": (lambda: Protocol("a-", {1: V1}), "a protocol's name is lower-case letters"),
    "no versions": (lambda: Protocol("p", {}), "a protocol without versions"),
    "a version of True": (lambda: Protocol("p", {True: V1}), "the version True"),
    "a version of text": (lambda: Protocol("p", {"1": V1}), "the version '1'"),
    "a version below zero": (lambda: Protocol("p", {-1: V1}), "the version -1"),
    "no class": (lambda: Protocol("p", {1: 5}), "5 is no Record class"),
    "no Record": (lambda: Protocol("p", {1: int}), "is no Record class"),
    "a record, not a class": (lambda: Protocol("p", {1: V1(x=1)}), "is no Record class"),
    "a record that needs another": (
        lambda: Protocol(
            "p", {1: make("Free", Struct("x" / construct.Array(this._.n, Byte)), {"x": tuple[int, ...]})}
        ),
        "Free only means something inside another record",
    ),
    "a tag that is not first": (
        lambda: Protocol("p", {1: V1}, tag=("version",)),
        "does not begin with version",
    ),
    "a tag of other order": (
        lambda: Protocol("p", {1: V1}, tag=("version", "magic")),
        "does not begin with version, magic",
    ),
    "a tag that is not there": (lambda: Protocol("p", {1: V1}, tag=("nope",)), "does not begin with nope"),
    "a tag longer than the layout": (
        lambda: Protocol("p", {1: V1}, tag=("magic", "version", "x", "y")),
        "does not begin with magic, version, x, y",
    ),
    "a tag that is not constant": (
        lambda: Protocol("p", {1: V1}, tag=("magic", "version", "x")),
        "a field of the tag is not constant",
    ),
    "a tag that ends within a byte": (
        lambda: Protocol(
            "p",
            {1: pair(construct.Const(5, BitsInteger(4)), construct.Const(1, BitsInteger(4)), BitStruct)},
            tag=("m",),
        ),
        "the tag takes 4 bits",
    ),
    "a version without the tag": (
        lambda: Protocol(
            "p", {1: V1, 2: make("Other", Struct("x" / Byte), {"x": int})}, tag=("magic", "version")
        ),
        "p v2",
    ),
    "one version twice": (
        lambda: Protocol("p", {1: V1, 2: tagged(1, name="Again")}, tag=("magic", "version")),
        "the version on the wire is 1",
    ),
    "one tag twice": (
        lambda: Protocol("p", {1: V1, 2: V2}, tag=("magic",)),
        "the tag is that of p v1",
    ),
    "two magics": (
        lambda: Protocol("p", {1: V1, 2: tagged(2, magic=b"WT")}, tag=("magic", "version")),
        "the versions do not share this part of the tag",
    ),
    "two lengths of magic": (
        lambda: Protocol("p", {1: V1, 2: tagged(2, magic=b"WST")}, tag=("magic", "version")),
        "the versions do not share this part of the tag",
    ),
    "two widths of version": (
        lambda: words(
            "p",
            pair(construct.Const(1, Byte), construct.Const(1, Byte)),
            pair(construct.Const(1, Byte), construct.Const(2, Int16ub)),
        ),
        "the versions do not share this part of the tag",
    ),
    "two byte orders of version": (
        lambda: words(
            "p",
            pair(construct.Const(1, Byte), construct.Const(1, Int16ul)),
            pair(construct.Const(1, Byte), construct.Const(2, Int16ub)),
        ),
        "the versions do not share this part of the tag",
    ),
    "an empty record that repeats": (
        lambda: Protocol(
            "p", {1: make("Empty", Struct("x" / construct.Bytes(0)), {"x": bytes})}, repeats=True
        ),
        "a record that may take no bytes cannot repeat",
    ),
    "two protocols of one name": (lambda: Registry(PLAIN, PLAIN), "two protocols have this name"),
    "one tag in two protocols": (lambda: Registry(ONE, MANY), "its tag begins as that of one v1"),
    "a tag that begins another": (
        lambda: Registry(Protocol("a", {1: V1}, tag=("magic",)), ONE),
        "its tag begins as that of a v1",
    ),
    "a tag that another begins": (
        lambda: Registry(ONE, Protocol("a", {1: V1}, tag=("magic",))),
        "its tag begins as that of one v1",
    ),
}


@pytest.mark.parametrize("name", NO_PROTOCOLS)
def test_what_is_no_protocol(name):
    statement, problem = NO_PROTOCOLS[name]
    with pytest.raises(SchemaError) as caught:
        statement()
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a", "a1", "a-b", "a_b", "rotation", "snapshot-2"])
def test_names_that_are_taken(name):
    assert Protocol(name, {0: V1}).label(0) == f"{name} v0"


def test_a_protocol_keeps_its_versions_to_itself():
    versions = {1: V1}
    protocol = Protocol("p", versions)
    versions[2] = V2
    assert list(protocol.versions) == [1]
    with pytest.raises(TypeError):
        protocol.versions[2] = V2


# -- the registry

ALL = Registry(PLAIN, ONE, LITTLE, BARE)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_registry_recognises_each_tag(engine):
    for protocol, octets in [(ONE, "5753 02 05 06"), (LITTLE, "3412 0001"), (BARE, "4242 05")]:
        data = bytes.fromhex(octets)
        parsed = ALL.parse(data, engine=engine)
        assert parsed.protocol is protocol
        assert parsed.record.build() == data
        assert list(ALL.parse_all(data, engine=engine)) == [parsed]


REGISTRY = {
    "another magic": ("5858", "registry", "foreign", "", 0),
    "half a magic": ("57", "one", "truncated", "magic", 0),
    "an unknown version": ("5753 09", "one", "unknown-version", "version", 2),
    "nothing": ("", "one", "truncated", "magic", 0),
    "a fault of the record": ("5753 01", "one v1", "truncated", "x", 3),
    "bytes too many": ("5753 01 05 06", "one v1", "trailing-bytes", "", 4),
}


@pytest.mark.parametrize("name", REGISTRY)
def test_what_a_registry_says_of_other_bytes(name):
    octets, record, code, path, byte = REGISTRY[name]
    for run in (ALL.parse, ALL.parse_all):
        error = fault_of(run, bytes.fromhex(octets))
        assert (error.record, error.code, error.path, error.byte) == (record, code, path, byte)


def test_a_foreign_magic_is_shown_beside_ours():
    error = fault_of(Registry(ONE, LITTLE).parse, b"HTTP/1.1 200 OK")
    known = "34 12 00 01, 34 12 00 02, 57 53 01, 57 53 02"
    assert str(error) == f"registry: 48 54 54 50 2f 31 2e 31 is not {known} (byte 0)"
    assert fault_of(Registry(PLAIN).parse, b"x").code == "foreign"
    assert fault_of(Registry().parse, b"").code == "foreign"


def test_a_registry_is_a_collection_by_name():
    assert list(ALL) == [PLAIN, ONE, LITTLE, BARE]
    assert len(ALL) == 4
    assert "one" in ALL
    assert "two" not in ALL
    assert 1 not in ALL
    assert ALL["one"] is ONE
    assert len(Registry()) == 0


FOUND = {"one": (ONE, None), "one/v1": (ONE, 1), "one/v2": (ONE, 2), "plain/v2": (PLAIN, 2)}
NOT_FOUND = {
    "two": "no protocol 'two': there are plain, one, little, bare",
    "": "no protocol '': there are plain, one, little, bare",
    "/v1": "no protocol '': there are",
    "one/": "one has no version '': there are v1, v2",
    "one/1": "one has no version '1': there are v1, v2",
    "one/v3": "one has no version 'v3': there are v1, v2",
    "one/v01": "one has no version 'v01': there are v1, v2",
    "one/v1/x": "one has no version 'v1/x': there are v1, v2",
    "ONE": "no protocol 'ONE'",
}


@pytest.mark.parametrize("text", FOUND)
def test_what_a_name_finds(text):
    assert ALL.find(text) == FOUND[text]


@pytest.mark.parametrize("text", NOT_FOUND)
def test_what_a_name_does_not_find(text):
    with pytest.raises(KeyError) as caught:
        ALL.find(text)
    assert caught.value.args[0].startswith(NOT_FOUND[text])


def test_an_empty_registry_says_that_it_has_none():
    with pytest.raises(KeyError, match="there are none"):
        Registry()["one"]


# -- the protocols of this repository


def test_rotation_v2_without_flags_is_rotation_v1():
    rotation = PROTOCOLS["rotation"]
    for index in range(4):
        data = bytes([index]) + bytes.fromhex("0100feff0300")
        old, new = (rotation.parse(data, version=version) for version in (1, 2))
        assert int(new.flags) == 0
        assert {name: getattr(new, name) for name in type(old).model_fields} == dict(old)
        assert old.build() == new.build() == data


def test_a_fault_may_be_made_by_hand_and_compared():
    assert fault_of(ONE.parse, b"WS\3").fault == Fault("unknown-version", "version", "3", "1, 2", 2)
