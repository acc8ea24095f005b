"""Texts of a peer and names of files in what is written: lossless for programs, harmless on a terminal."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.capture.capture_writer import Blocks, ethernet, ipv4, udp
from tests.cli.command import capture_of, run, run_all, write, write_project
from wirelock.shown import escaped, file_text

NOTES = '''
"""A record of a text that may be absent."""
from construct import Const, Flag, If, Int8ub, PascalString, Struct, this
from wirelock import Protocol, Record, Registry, derived

class NoteV1(Record, layout=Struct("magic" / Const(b"N"), "version" / Const(1, Int8ub), "id" / Int8ub,
                                   "there" / Flag, "note" / If(this.there, PascalString(Int8ub, "utf8")))):
    """A note."""
    magic: bytes = derived()
    version: int = derived()
    id: int
    there: bool
    note: str | None

PROTOCOLS = Registry(Protocol("note", {1: NoteV1}, tag=("magic", "version"), keys=("id",)))
'''

TEXTS: Final = {
    "plain": "plain",
    "empty": "",
    "absent": None,
    "quotes": 'a "b" ""',
    "a quote": '"',
    "comma": "a,b",
    "carriage return": "x\ry",
    "carriage return last": "x\r",
    "line feed": "x\ny",
    "both": "x\r\ny\r\n",
    "separators": "a\u2028b\u2029c\x85d\x1ce\vf\fg",
    "a zero": "a\0b",
    "spaces": "  x  ",
    "a space": " ",
    "a tab": "\tx\t",
    "a formula": "=1+1",
    "a comment": "# x",
    "a backslash": "\\n\\",
    "null": "NULL",
    "colour": "\x1b[31mRED\x1b]0;pwn\x07",
    "eight bits": "\x9b31mRED\x9c",
    "a forged row": "line1\nline2 fake row",
    "forged fields": "x id=9 there=False",
    "right to left": "\u202eabc",
    "far away": "日本 𝄞 e\u0301",
}


def payload(number: int, text: str | None) -> bytes:
    octets = (text or "").encode()
    return (
        b"N\1" + bytes([number, text is not None]) + (b"" if text is None else bytes([len(octets)]) + octets)
    )


FAULT = b"N\1\1\1\6\xff\x1b[31m"
PAYLOADS = [payload(number, text) for number, text in enumerate(TEXTS.values())]
NAMES: Final = {
    "control": "a\x1b]0;pwn\x07\nb.pcap",
    "carriage return": 'x\ry, "z".pcap',
    "no text": os.fsdecode(b"bad\xffname.pcap"),
}
SHOWN: Final = {"no text": r"bad\xffname.pcap"}
"""What stands for a name that is no text."""


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_project(tmp_path_factory.mktemp("notes"), "notes", NOTES)
    write(folder / "notes.pcap", capture_of(*PAYLOADS))
    for name in NAMES.values():
        write(folder / name, capture_of(PAYLOADS[0], FAULT))
    return folder


# -- for programs


def by_csv(path: Path) -> list[dict[str, Any]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream, strict=True))


def by_duckdb(path: Path) -> list[dict[str, Any]]:
    found = duckdb.sql(f"from read_csv('{path}', all_varchar=true, quote='\"', allow_quoted_nulls=false)")
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def by_pyarrow(path: Path) -> list[dict[str, Any]]:
    with path.open("rb") as stream:
        names = next(csv.reader([stream.readline().decode()]))
    options = {
        "parse_options": pa.csv.ParseOptions(newlines_in_values=True),
        "convert_options": pa.csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            null_values=[""],
        ),
    }
    return pa.csv.read_csv(path, **options).to_pylist()


READERS = {"csv": by_csv, "duckdb": by_duckdb, "pyarrow": by_pyarrow}


@pytest.mark.parametrize("reader", READERS)
def test_csv_gives_every_text_back(notes, reader):
    target = notes / f"{reader}.csv"
    assert run("decode", "notes.pcap", "-o", target, cwd=notes).code == 0
    found = [row["record.note"] for row in READERS[reader](target)]
    expected = list(TEXTS.values())
    if reader == "csv":  # which has no None before Python 3.13
        expected = [text or "" for text in expected]
    assert found == expected


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("reader", READERS)
def test_csv_gives_names_and_faults_back(notes, reader, name):
    target, shown = notes / f"faults-{reader}.csv", SHOWN.get(name, NAMES[name])
    arguments = [NAMES[name], "notes.pcap", "-o", notes / "rows.csv", "--faults", target]
    assert run("decode", *arguments, cwd=notes).code == 0
    (fault,) = READERS[reader](target)
    assert (fault["file"], fault["code"], fault["payload"]) == (shown, "bad-text", FAULT.hex())
    rows = READERS[reader](notes / "rows.csv")
    assert [row["file"] for row in rows] == [shown] + ["notes.pcap"] * len(TEXTS)


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_one_spelling_everywhere(notes, name):
    shown = SHOWN.get(name, NAMES[name])
    both = [NAMES[name], NAMES[name]]
    for form in ("jsonl", "csv", "parquet"):
        rows, faults = notes / f"rows.{form}", notes / f"faults.{form}"
        assert run("decode", *both, "-o", rows, "--faults", faults, cwd=notes).code == 0
        for path in (rows, faults):
            if form == "jsonl":
                found = [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]
                assert duckdb.sql(f"select distinct file from read_json('{path}')").fetchall() == [(shown,)]
            else:
                found = by_csv(path) if form == "csv" else pa.parquet.read_table(path).to_pylist()
            assert {row["file"] for row in found} == {shown}, path
    for form in ("jsonl", "csv"):
        printed = run("decode", *both, "--format", form, cwd=notes).out
        assert printed == (notes / f"rows.{form}").read_bytes().decode()
    for arguments in (["capture", "info", NAMES[name]], ["compare", NAMES[name], "notes.pcap"]):
        found = json.loads(run(*arguments, "--format", "json", cwd=notes).out)
        assert found["file" if "info" in arguments else "a"] == shown


# -- on a terminal


def harmless(text: str) -> list[str]:
    """Return the lines, if nothing in them is more than text."""
    lines = text.split("\n")
    assert all(line.isprintable() for line in lines), [line for line in lines if not line.isprintable()]
    return lines[:-1]


def test_the_table_is_a_line_a_record_and_says_what_is_text(notes):
    outcome = run("decode", "notes.pcap", cwd=notes)
    lines = harmless(outcome.out)
    assert len(lines) == 1 + len(TEXTS)
    assert [line.partition("note=")[2] for line in lines[1:]] == [repr(text) for text in TEXTS.values()]


HOSTILE = [
    ["decode", *NAMES.values()],
    ["decode", *NAMES.values(), "-o", "out\x1b[1m\n.jsonl"],
    ["decode", *NAMES.values(), "-o", "out\x1b[1m\n.parquet"],
    ["decode", "-o", "rows\x1b[1m\n.unknown", "notes.pcap"],
    *(["decode", name + "\x1b[1m\nnone"] for name in NAMES.values()),
    *(["capture", "info", name] for name in NAMES.values()),
    ["capture", "info", "options.pcapng"],
    *(["verify", name] for name in NAMES.values()),
    ["verify", "notes.pcap", "--write", "old\x1b[1m\n.jsonl", "--overwrite"],
    ["verify", "other.pcap", "--expect", "old\x1b[1m\n.jsonl"],
    *(["compare", name, "notes.pcap"] for name in NAMES.values()),
    ["compare", "notes.pcap", "other.pcap"],
    ["compare", "notes.pcap", "other.pcap", "--key", "note"],
    ["stats", *NAMES.values()],
    ["inspect", FAULT.hex()],
    *(["inspect", payload(1, TEXTS[name]).hex()] for name in ("colour", "eight bits", "a forged row")),
    ["inspect", NAMES["control"], "--as", "note"],
    ["inspect", NAMES["control"] + "none"],
    ["golden", "add", "note/v1", NAMES["control"] + "none", "--packet", "1", "--id", "x"],
    ["show", "-o", "a\x1b[1m\n/b"],
]


def test_nothing_that_a_peer_or_a_name_says_is_more_than_text(notes):
    other = [payload(number, f"{text}\x1b[2J\r\n") for number, text in enumerate(TEXTS.values())]
    write(notes / "other.pcap", capture_of(*other))
    blocks = Blocks()
    options = blocks.option(2, b"eth\x1b[31m\n0") + blocks.option(1, b"comment\x1b]0;pwn\x07")
    section = blocks.section(options=blocks.option(4, b"app\x1b[31m\nfake\xff") + blocks.option(0, b""))
    packet = blocks.enhanced(ethernet(ipv4(udp(PAYLOADS[0]))))
    write(notes / "options.pcapng", section + blocks.interface(options=options) + packet)
    run("verify", "notes.pcap", "--write", "old\x1b[1m\n.jsonl", cwd=notes)
    rows = {" ".join(arguments): arguments for arguments in HOSTILE}
    for arguments, outcome in run_all(rows, cwd=notes).items():
        lines = harmless(outcome.out) + harmless(outcome.err)
        assert lines, arguments
        assert not any(line.startswith(("line2", "0", "fake", "b.pcap", "none")) for line in lines), lines


@given(st.text(st.characters(codec=None), max_size=20))
def test_laws_of_what_is_shown(text):
    shown, name = escaped(text), file_text(text)
    assert shown.isprintable() and escaped(shown) == shown
    assert shown == text or not text.isprintable()
    assert name.encode().decode() == name and escaped(name) == shown
    assert file_text(os.fsdecode(text.encode("utf-8", "replace"))) == text.encode("utf-8", "replace").decode()


@given(st.binary(max_size=20))
def test_a_name_of_any_bytes_is_spelt_by_them(data):
    assert file_text(data.decode("utf-8", "surrogateescape")) == data.decode("utf-8", "backslashreplace")
