"""`wirelock inspect` as a process: rows, faults, what may be read, how much of it, colours."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest

from protocol import PROTOCOLS
from tests.cli.command import (
    ROOT,
    SESSION,
    V1,
    V2,
    done,
    on_terminal,
    payloads_of,
    refused,
    run,
    run_all,
    shell,
    write,
    write_project,
)
from wirelock import DecodeError

PAYLOADS = payloads_of(SESSION)

SHOWN = {
    "a record": (
        PAYLOADS[7], 0,
        """\
snapshot v2: SnapshotV2, 30 bytes
at  bits  bytes        field                value       meaning
 0        57 53        magic                            constant
 2        02           version              2           constant
 3        00 00 00 00  tick                 0
 7        01 00        count                1
 9                     entities                         1 element
 9                       entities[0]                    EntityV2
 9        01 00            id               1
11                         position                     Position
11        91 e5 2c 41        x              10.8060465
15        00 00 a0 3f        y              1.25
19        a7 a2 86 41        z              16.8294201
23                         rotation                     RotationV2
23  7..2  2b                 flags          10          GROUNDED|AIMING
23  1..0  2b                 largest_index  3
24        b1 e5              a              -6735
26        13 b1              b              -20205
28        3b f7              c              -2245
no fault
""",
    ),
    "a record that is cut": (
        PAYLOADS[134], 1,
        """\
snapshot v2: SnapshotV2, 5 bytes
   at  bytes  field    value  meaning
    0  57 53  magic           constant
    2  02     version  2      constant
>   3  1d 00  tick            truncated: 4 bytes wanted, 2 left

 0  57 53 02 1d 00 -- --
             ^^ ^^ ^^ ^^
snapshot v2: tick: 4 bytes wanted, 2 left (byte 3)
""",
    ),
    "a value that is not allowed": (
        PAYLOADS[109], 1,
        """\
snapshot v1: SnapshotV1, 31 bytes
   at  bytes        field                value        meaning
    0  57 53        magic                             constant
    2  01           version              1            constant
    3  17 00 00 00  tick                 23
    7  01 00        count                1
    9               entities                          1 element
    9                 entities[0]                     EntityV1
    9  01 00            id               1
   11  02               flags            2            GROUNDED
   12                   position                      Position
   12  8a 27 2f c1        x              -10.9471531
   16  00 00 a0 3f        y              1.25
   20  60 e7 85 41        z              16.7379761
   24                   rotation                      RotationV1
>  24  11                 largest_index  17           out-of-range: 17 is not in 0..3
   25  85 31              a              12677
   27  82 10              b              4226
   29  b9 a6              c              -22855

 0  57 53 01 17 00 00 00 01 00 01 00 02 8a 27 2f c1
16  00 00 a0 3f 60 e7 85 41 11 85 31 82 10 b9 a6
                            ^^
snapshot v1: entities[0].rotation.largest_index: 17 is not in 0..3 (byte 24)
""",
    ),
    "bytes behind the end": (
        V2 + b"\1\2", 1,
        """\
snapshot v2: SnapshotV2, 11 bytes
   at  bytes        field            value  meaning
    0  57 53        magic                   constant
    2  02           version          2      constant
    3  08 00 00 00  tick             8
    7  00 00        count            0
    9               entities                0 elements
>   9  01 02        (after the end)         trailing-bytes: 2 bytes after the end

 0  57 53 02 08 00 00 00 00 00 01 02
                               ^^ ^^
snapshot v2: 2 bytes after the end (byte 9)
""",
    ),
    "a version that is not known": (
        b"WS\x09" + bytes(10), 1,
        """\
snapshot, 13 bytes
   at  bytes                 field       meaning
    0  57 53                 magic       constant
>   2  09                    version     unknown-version: version 9 is none of...
    3  00 00 00 00 00 00 +4  (not read)  10 bytes

 0  57 53 09 00 00 00 00 00 00 00 00 00 00
          ^^
snapshot: version: version 9 is none of 1, 2, 3 (byte 2)
""",
    ),
    "a tag that is cut": (
        b"W", 1,
        """\
snapshot, 1 byte
   at  bytes  field  meaning
>   0  57     magic  truncated: 2 bytes wanted, 1 left

 0  57 --
    ^^ ^^
snapshot: magic: 2 bytes wanted, 1 left (byte 0)
""",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SHOWN)
def test_what_is_shown(name):
    data, code, expected = SHOWN[name]
    outcome = run("inspect", data.hex())
    assert (outcome.out, outcome.code, outcome.err) == (expected, code, "")


GAME = '''
"""Protocols with every kind of row."""
from construct import (
    Array, BitsInteger, BitStruct, Byte, Bytes, Computed, Const, Enum, Flag, GreedyBytes, Int8ub, Int16sl,
    Int16ub, Int64ul, Mapping, Padding, PascalString, PrefixedArray, Struct, VarInt, this,
)
from enum import IntEnum
from typing import Annotated
from annotated_types import Le
from pydantic import field_validator
from wirelock import LsbBitStruct, Protocol, Record, Registry, Rule, derived, scaled, ticks

class Colour(IntEnum):
    RED = 1
    BLUE = 2

class Word(Record, layout=LsbBitStruct("a" / BitsInteger(12), "b" / BitsInteger(4))):
    a: int
    b: Annotated[int, Le(9)]

class Kinds(Record, layout=Struct(
    "colour" / Enum(Int8ub, Colour), "on" / Flag, "height" / scaled(Int16sl, step="1/100", unit="m"),
    "when" / ticks(Int64ul, unit="ms", epoch="unix"), "frame" / ticks(Byte, unit="frames"), Padding(2),
    "word" / Word.layout, "name" / PascalString(VarInt, "utf8"), "raw" / GreedyBytes,
)):
    """One of each."""
    colour: Colour
    on: bool
    height: float
    when: int
    frame: int
    word: Word
    name: str
    raw: bytes

class Item(Record, layout=Struct("id" / Byte)):
    id: int

class Long(Record, layout=Struct("items" / PrefixedArray(Int16ub, Item.layout), "xs" / Array(20, Byte))):
    items: tuple[Item, ...]
    xs: tuple[int, ...]

ORDER = Rule("order", this.a <= this.b, "a < b")

class Checked(Record, layout=Struct("a" / Byte, "b" / Byte), rules=[ORDER]):
    a: int
    b: int

    @field_validator("b")
    @classmethod
    def no_seven(cls, b: int) -> int:
        if b == 7:
            raise ValueError("a seven")
        return b

PROTOCOLS = Registry(
    Protocol("kinds", {1: Kinds}), Protocol("long", {1: Long}), Protocol("checked", {1: Checked})
)
'''

KINDS = "02 01 85ff e40b540201000000 07 0000 2331 02 c3a9 41421b"
LONG = "001e" + bytes(range(30)).hex() + bytes(20).hex()


@pytest.fixture(scope="module")
def game(tmp_path_factory):
    return write_project(tmp_path_factory.mktemp("game"), "game", GAME)


def inspected(game, hexadecimal, version, *more, code=0):
    outcome = run("inspect", hexadecimal, "--as", version, *more, cwd=game)
    assert (outcome.code, outcome.err) == (code, "")
    return outcome.out.splitlines()


KINDS_SHOWN = """\
kinds v1: Kinds, 23 bytes
at  bits                         bytes                    field        value       meaning
 0                               02                       colour       2           BLUE
 1                               01                       on           True
 2                               85 ff                    height       -123        -1.23 m
 4                               e4 0b 54 02 01 00 00 00  when         4334029796  1970-02-20T03:53:49.796000000Z
12                               07                       frame        7           frames
13                               00 00                    padding#5                padding
15                                                        word                     Word
15  byte 16 bits 3..0 + byte 15  23 31                      a          291
16  7..4                         31                         b          3
17                               02                       name (size)  2
18                               c3 a9                    name         'é'
20                               41 42 1b                 raw
no fault
"""  # noqa: E501


def test_values_and_what_they_mean(game):
    assert "\n".join(inspected(game, KINDS, "kinds/v1")) + "\n" == KINDS_SHOWN


def test_long_values_are_cut_unless_all_is_asked_for(game):
    short, whole = inspected(game, LONG, "long/v1"), inspected(game, LONG, "long/v1", "--all")
    gaps = [line.split(None, 3) for line in short if "--all" in line]
    assert gaps == [
        ["...", "...", "items[28]", "21 more elements, 21 bytes; --all shows them"],
        ["...", "...", "xs[18]", "11 more elements, 11 bytes; --all shows them"],
    ]
    assert len(short) == 2 + (2 + 2 * 9 + 1) + (1 + 9 + 1) + 1
    assert not any("--all" in line for line in whole)
    assert len(whole) == 2 + (2 + 2 * 30) + (1 + 20) + 1
    more = KINDS + "00" * 20
    assert "41 42 1b 00 00 00 +17 " in inspected(game, more, "kinds/v1")[-2]
    last = [line.strip() for line in inspected(game, more, "kinds/v1", "--all")[-4:-1]]
    assert last[0].startswith("20 ") and "41 42 1b 00 00 00 00 00  raw" in last[0]
    assert (last[1].split(None, 1), last[2].split(None, 1)) == (
        ["28", "00 00 00 00 00 00 00 00"],
        ["36", "00 00 00 00 00 00 00"],
    )


def test_a_fault_among_elements_that_are_left_out_is_shown(game):
    lines = inspected(game, "001e" + bytes(12).hex(), "long/v1", code=1)
    assert [line.split(None, 3) for line in lines if line.startswith(">")] == [
        [">", "14", "id", "truncated: 1 byte wanted, 0 left"]
    ]
    assert lines[-1] == "long v1: items[12].id: 1 byte wanted, 0 left (byte 14)"


def test_a_bit_that_is_wrong_is_pointed_at(game):
    lines = inspected(game, KINDS.replace("2331", "23a1"), "kinds/v1", code=1)
    assert lines[-6:] == [
        " 0  02 01 85 ff e4 0b 54 02 01 00 00 00 07 00 00 23",
        "16  a1 02 c3 a9 41 42 1b",
        "    ^^",
        "    byte 16 is 10100001",
        "               ^^^^",
        "kinds v1: word.b: 10 is not in 0..9 (byte 16 bits 7..4)",
    ]


@pytest.mark.parametrize(
    ("data", "last", "carets"),
    [
        ("0201", "checked v1: the rule order does not hold: a < b (byte 0)", "    ^^ ^^"),
        ("0207", "checked v1: b: Value error, a seven (byte 1)", "       ^^"),
        ("020700", "checked v1: 1 byte after the end (byte 2)", "          ^^"),
    ],
)
def test_rules_and_validators(game, data, last, carets):
    lines = inspected(game, data, "checked/v1", code=1)
    assert lines[-1] == last
    assert lines[-2] == carets


# -- records that repeat


def test_a_datagram_of_several_records(pings):
    octets = b"".join(b"PG\1" + bytes([0, number]) for number in range(12))
    lines = run("inspect", octets.hex(), cwd=pings).out.splitlines()
    titles = [line for line in lines if line.startswith(("ping", "3 more"))]
    assert titles == [f"ping v1: PingV1 [{n}] at byte {5 * n}, 5 bytes" for n in range(8)] + [
        "3 more records up to [10]; --all shows them",
        "ping v1: PingV1 [11] at byte 55, 5 bytes",
    ]
    assert lines[-2].split() == ["58", "00", "0b", "n", "11"]
    assert lines[-1] == "no fault"
    whole = run("inspect", octets.hex(), "--all", cwd=pings).out
    assert whole.count("PingV1 [") == 12


def test_a_fault_in_a_later_record(pings):
    outcome = run("inspect", "5047010005 5047010006 5847010007", cwd=pings)
    assert outcome.code == 1
    assert outcome.out.endswith(
        """\
ping [2] at byte 10, 5 bytes
   at  bytes     field       meaning
>  10  58 47     magic       constant: 58 47 is not 50 47
   12  01 00 07  (not read)  3 bytes

 0  50 47 01 00 05 50 47 01 00 06 58 47 01 00 07
                                  ^^ ^^
ping: [2].magic: 58 47 is not 50 47 (byte 10)
"""
    )


# -- what may be read


HEX = {
    "one word": (V1.hex(),),
    "upper case": (V1.hex().upper(),),
    "spaces": (V1.hex(" "),),
    "words": tuple(V1.hex(" ").split()),
    "colons": (V1.hex(":"),),
    "commas": (V1.hex(","),),
    "C": (", ".join(f"0x{octet:02X}" for octet in V1),),
    "0x once": (f"0x{V1.hex()}",),
    "groups": (V1.hex(" ", 4),),
    "lines": (V1.hex("\n") + "\n",),
}


@pytest.fixture(scope="module")
def expected():
    return done(run("inspect", V1.hex()))


def test_hex_however_it_is_written(expected):
    rows = {name: ("inspect", *words) for name, words in HEX.items()}
    for outcome in run_all(rows).values():
        assert done(outcome) == expected


def test_files_and_standard_input(tmp_path, expected):
    raw = write(tmp_path / "raw.bin", V1)
    text = write(tmp_path / "text.hex", V1.hex(" ", 2) + "\n")
    named_like_hex = write(tmp_path / "beef", V1)
    assert done(run("inspect", raw)) == expected
    assert done(run("inspect", named_like_hex)) == expected
    assert done(run("inspect", "-", given=V1)) == expected
    assert done(run("inspect", "--hex", text)) == expected
    assert done(run("inspect", "--hex", "-", given=V1.hex().encode())) == expected
    assert done(run("inspect", "--hex", V1.hex())) == expected
    os.mkfifo(tmp_path / "pipe.bin")
    with ThreadPoolExecutor(1) as pool:
        pool.submit((tmp_path / "pipe.bin").write_bytes, V1)
        assert done(run("inspect", tmp_path / "pipe.bin")) == expected


def test_a_name_that_is_hex_too(tmp_path, expected):
    write(tmp_path / "beef", V1)
    options = ("--protocols", "protocol:PROTOCOLS")
    more = {"cwd": tmp_path, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    refused(
        run("inspect", "beef", *options, **more), "beef is a file and hex text too: write ./beef, or 0xbeef"
    )
    assert done(run("inspect", "./beef", *options, **more)) == expected
    refused(run("inspect", "0xbeef", *options, **more), "be ef is the start of no protocol's tag")


REFUSED = {
    "odd digits": (("575",), "575 is an odd number of hex digits: write two for each byte"),
    "an odd word": (("57", "5", "3"), "5 is an odd number of hex digits"),
    "0x of one digit": (("0x5",), "0x5 is an odd number of hex digits"),
    "many odd digits": (("5" * 101,), f"{'5' * 17}... is an odd number of hex digits"),
    "no hex": (("57zz",), "57zz is no file, and no hex text: 'z' is no hex digit"),
    "words that are no hex": (("57", "xx"), "'xx' is no hex text, and only one FILE is read at a time"),
    "0x alone": (("0x",), "'x' is no hex digit"),
    "no file": (("/nowhere/x.bin",), "/nowhere/x.bin is no file"),
    "a folder": (("docs",), "docs: Is a directory"),
    "two files": (("README.md", "CHANGELOG.md"), "only one FILE is read at a time"),
    "standard input twice": (("-", "-"), "only one FILE is read at a time"),
    "a capture": ((str(SESSION),), f"{SESSION} is a capture: read it with wirelock decode"),
    "text that is no hex": (
        ("--hex", "pyproject.toml"),
        "pyproject.toml is no hex text: '[' is no hex digit",
    ),
    "bytes that are no hex": (("--hex", str(SESSION)), "is no hex text: it is not in ASCII"),
    "no end": (("/dev/zero",), "/dev/zero has more than 262144 bytes, too many to read field by field"),
    "no end of hex": (("--hex", "/dev/zero"), "/dev/zero has more than 2097152 bytes"),
}


@pytest.fixture(scope="module")
def refusals():
    return run_all({name: ("inspect", *row[0]) for name, row in REFUSED.items()})


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_read(refusals, name):
    refused(refusals[name], REFUSED[name][1])


def test_input_of_many_bytes(tmp_path):
    outcome = run("inspect", "-", "--as", "rotation/v1", given=bytes(1 << 18))
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == "rotation v1: 262137 bytes after the end (byte 7)"
    assert "  and 262112 more\n" in outcome.out
    refused(run("inspect", "-", given=bytes((1 << 18) + 1)), "standard input has more than 262144 bytes")
    text = write(tmp_path / "a.hex", "00" * ((1 << 18) + 1))
    refused(run("inspect", "--hex", text), f"{text} has 262145 bytes, more than the 262144 that are read")


def test_hex_text_that_was_taken_for_bytes_has_a_hint():
    refused(run("inspect", "-", given=V1.hex().encode()), "standard input holds hex text: say --hex")
    outcome = run("inspect", "-", "--as", "rotation/v1", given=b"00" * 7)
    assert outcome.code == 1
    assert outcome.err == "wirelock: standard input holds hex text: say --hex to read it as such\n"


def test_no_bytes(expected):
    for outcome in run_all({"empty": ("inspect", ""), "spaces": ("inspect", " , ")}).values():
        assert outcome.code == 1
        assert outcome.out.splitlines()[-1] == "snapshot: magic: 2 bytes wanted, 0 left (byte 0)"
    assert run("inspect", "-", "--as", "rotation/v2", given=b"").out.splitlines()[0] == (
        "rotation v2: RotationV2, 0 bytes"
    )


@pytest.mark.parametrize(
    ("named", "label"),
    [("snapshot", "snapshot v1"), ("snapshot/v1", "snapshot v1"), ("rotation/v1", "rotation v1")],
)
def test_as_says_what_the_bytes_are(named, label):
    assert run("inspect", V1.hex(), "--as", named).out.startswith(f"{label}: ")


def test_another_version_is_a_constant_that_differs():
    outcome = run("inspect", V1.hex(), "--as", "snapshot/v2")
    assert outcome.out.splitlines()[-1] == "snapshot v2: version: 1 is not 2 (byte 2)"


# -- the golden cases


def golden():
    for protocol in PROTOCOLS:
        for version in protocol.versions:
            file = json.loads((ROOT / f"fixtures/{protocol.name}/v{version}.json").read_text("utf-8"))
            for case in file["cases"]:
                yield protocol, version, case["id"], bytes.fromhex(case["bytes"])


def verdict(protocol, version, data):
    try:
        protocol.parse(data, version=version)
    except DecodeError as error:
        return 1, str(error)
    return 0, "no fault"


def test_every_golden_case_has_the_verdict_of_parsing():
    cases = {
        (protocol.name, version, name): (protocol, version, data)
        for protocol, version, name, data in golden()
    }
    rows = {
        key: ("inspect", data.hex(), "--as", f"{protocol.name}/v{version}", "--all")
        for key, (protocol, version, data) in cases.items()
    }
    for key, outcome in run_all(rows).items():
        assert outcome.err == ""
        lines = outcome.out.splitlines()
        assert (outcome.code, lines[-1]) == verdict(*cases[key])
        if not outcome.code:
            # Every byte of a record that has no fault is in a row.
            assert len(lines) > 3


# -- terminals and pipes


@pytest.mark.parametrize("name", SHOWN)
def test_colours_on_a_terminal_only(name):
    data, code, expected = SHOWN[name]
    found, shown = on_terminal("inspect", data.hex())
    assert found == code
    assert "\x1b[" in shown
    plain = shown
    for sequence in ("\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[36m"):
        plain = plain.replace(sequence, "")
    assert plain == expected
    assert ("\x1b[31m" in shown) == bool(code)


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_no_colours_where_they_are_not_wanted(environment):
    assert on_terminal("inspect", V1.hex(), **environment)[1] == done(run("inspect", V1.hex()))
    assert "\x1b[" in on_terminal("inspect", V1.hex(), NO_COLOR="")[1]


def test_bytes_never_reach_a_terminal_as_they_are(game):
    lines = inspected(game, "02 01 85ff e40b540201000000 07 0000 2331 04 1b5b334a 1b5b33", "kinds/v1")
    assert "\x1b" not in "".join(lines)
    assert lines[-3].split()[-1] == r"'\x1b[3J'"


def test_a_reader_that_goes_away_and_an_input_that_is_closed():
    octets = PAYLOADS[169].hex()
    outcome = shell(f"for n in 1 2 3; do $W inspect {octets} --all; done | head -1; exit ${{PIPESTATUS[0]}}")
    assert "wirelock:" not in outcome.err
    assert len(outcome.out.splitlines()) == 1
    outcome = shell("$W inspect - --as rotation/v1 <&-")
    assert outcome.code == 1
    assert outcome.out.splitlines()[-1] == "rotation v1: largest_index: 1 byte wanted, 0 left (byte 0)"
