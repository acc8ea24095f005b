"""Errors: one line each, data as attributes, and the same again after pickling."""

import copy
import pickle
import re
from pathlib import Path

import pytest

import wirelock
from wirelock import DecodeError, EncodeError, Fault, SchemaError, WirelockError
from wirelock.errors import CODES, CaptureError, GoldenError, LockError, ProjectError, piece_text

ROOT = Path(wirelock.__file__).parents[2]

# -- codes

MESSAGES = {
    "truncated": (("0", "1"), "1 byte wanted, 0 left"),
    "trailing-bytes": (("1", "0"), "1 byte after the end"),
    "constant": (("57", "58"), "57 is not 58"),
    "not-canonical": (("2", "1"), "2 would be written as 1"),
    "bad-count": (("3", "4"), "3 is not 4"),
    "unknown-case": (("3", "1, 2"), "there is no case for the key 3: there are 1, 2"),
    "unknown-member": (("5", "RED (1), BLUE (2)"), "5 is none of RED (1), BLUE (2)"),
    "out-of-range": (("5", "0..3"), "5 is not in 0..3"),
    "bad-text": (("ff", "utf-8"), "ff is no utf-8"),
    "too-large": (("ff ff", "64 bits"), "ff ff is more than 64 bits"),
    "checksum": (("0x01", "0x02"), "0x01 is not 0x02"),
    "opaque": (("zip (version 1)", "no zip"), "zip (version 1) does not take it: no zip"),
    "wrong-type": (("bool True", "an int"), "bool True is not an int"),
    "unknown-version": (("9", "1, 2"), "version 9 is none of 1, 2"),
    "foreign": (("48 49", "57 53"), "48 49 is not 57 53"),
    "validator": (("no good", ""), "no good"),
    "rule:NAME": (("", ": keep it small"), "the rule NAME does not hold: keep it small"),
}


def test_every_code_has_a_message_here():
    assert list(MESSAGES) == list(CODES)


@pytest.mark.parametrize("code", MESSAGES)
def test_what_a_code_says(code):
    (found, allowed), message = MESSAGES[code]
    assert Fault(code, "x", found, allowed).message == message
    assert CODES[code][1]
    assert "\n" not in "".join(CODES[code])


@pytest.mark.parametrize(("count", "words"), [("0", "0 bytes"), ("1", "1 byte"), ("2", "2 bytes")])
def test_bytes_are_counted_in_words(count, words):
    assert Fault("truncated", "x", "0", count).message == f"{words} wanted, 0 left"
    assert Fault("trailing-bytes", "", count, "0").message == f"{words} after the end"


def test_the_name_of_a_rule_is_in_its_message():
    assert Fault("rule:reachable", "", "", "").message == "the rule reachable does not hold"


def test_the_source_uses_no_other_code():
    used = set()
    for file in (ROOT / "src" / "wirelock").rglob("*.py"):
        if file.parent.name not in ("codec", "schema"):
            continue
        text = file.read_text("utf-8")
        used |= set(re.findall(r'(?:Fault|fault_at|_refuse)\(\s*"([a-z-]+)"', text))
    assert used <= set(CODES)
    assert len(used) > 9


# -- places

PIECES = {
    (3, 0xFF): "byte 3",
    (3, 0x80): "byte 3 bit 7",
    (3, 0x01): "byte 3 bit 0",
    (0, 0x3C): "byte 0 bits 5..2",
    (41, 0x03): "byte 41 bits 1..0",
}


@pytest.mark.parametrize("piece", PIECES)
def test_pieces_in_words(piece):
    assert piece_text(*piece) == PIECES[piece]


def test_places_in_words():
    assert Fault("x", "x", "", "").place == ""
    assert Fault("x", "x", "", "", 7).place == "byte 7"
    assert Fault("x", "x", "", "", 7, ((7, 0x0F), (8, 0xF0))).place == "byte 7 bits 3..0 + byte 8 bits 7..4"


def test_a_fault_seen_from_an_enclosing_record():
    inner = Fault("out-of-range", "b", "5", "0..3", 1, ((1, 0x0F),))
    assert inner.within("xs[2]", 10) == Fault("out-of-range", "xs[2].b", "5", "0..3", 11, ((11, 0x0F),))
    assert inner.within("", 10).path == "b"
    whole = Fault("rule:a", "", "", "")
    assert whole.within("xs[2]", 10) == Fault("rule:a", "xs[2]", "", "")


# -- the errors

FAULT = Fault("out-of-range", "entities[3].rotation.largest_index", "5", "0..3", 41, ((41, 0x03),))
ERRORS = {
    "a decode error": (
        DecodeError("snapshot v2", FAULT),
        "snapshot v2: entities[3].rotation.largest_index: 5 is not in 0..3 (byte 41 bits 1..0)",
    ),
    "a decode error of a packet": (
        DecodeError("snapshot v2", FAULT, 1207),
        "snapshot v2: entities[3].rotation.largest_index: 5 is not in 0..3 (byte 41 bits 1..0; packet 1207)",
    ),
    "a decode error of the whole record": (
        DecodeError("Box", Fault("trailing-bytes", "", "3", "0", 5)),
        "Box: 3 bytes after the end (byte 5)",
    ),
    "a decode error without a place": (
        DecodeError("Box", Fault("validator", "", "no", "")),
        "Box: no",
    ),
    "a packet and no place": (
        DecodeError("Box", Fault("validator", "", "no", ""), 3),
        "Box: no (packet 3)",
    ),
    "an encode error": (
        EncodeError("Box", Fault("wrong-type", "a", "bool True", "an int")),
        "Box: a: bool True is not an int",
    ),
    "a schema error": (SchemaError("R.x", "it is bad", "make it good"), "R.x: it is bad; make it good"),
    "a schema error without a place": (
        SchemaError("", "it is bad", "make it good"),
        "it is bad; make it good",
    ),
    "a schema error without a remedy": (SchemaError("R.x", "it is bad"), "R.x: it is bad"),
    "a project error": (ProjectError("no protocols"), "no protocols"),
    "a lock error": (LockError("no lock"), "no lock"),
    "a golden error": (GoldenError("no golden"), "no golden"),
    "a capture error": (CaptureError("no capture"), "no capture"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_how_errors_read(name):
    error, text = ERRORS[name]
    assert str(error) == text
    assert isinstance(error, WirelockError)


@pytest.mark.parametrize("name", ERRORS)
@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_survive_pickling(name, again):
    error, text = ERRORS[name]
    found = again(error)
    assert type(found) is type(error)
    assert str(found) == text
    assert found.args == error.args
    assert vars(found) == vars(error)


def test_the_data_of_a_fault_error():
    error = pickle.loads(pickle.dumps(DecodeError("snapshot v2", FAULT, 1207)))
    assert (error.record, error.fault, error.packet) == ("snapshot v2", FAULT, 1207)
    assert (error.code, error.path, error.byte) == ("out-of-range", FAULT.path, 41)
    assert (error.pieces, error.found, error.allowed) == (((41, 0x03),), "5", "0..3")


def test_the_data_of_a_schema_error():
    error = pickle.loads(pickle.dumps(SchemaError("R.x", "it is bad", "make it good")))
    assert (error.path, error.problem, error.remedy) == ("R.x", "it is bad", "make it good")


def test_whose_fault_it_is_can_be_told_apart():
    kinds = [SchemaError, DecodeError, EncodeError, CaptureError, ProjectError, LockError, GoldenError]
    for kind in kinds:
        assert [other for other in kinds if issubclass(kind, other)] == [kind]


def test_a_fault_is_a_value():
    again = Fault(FAULT.code, FAULT.path, FAULT.found, FAULT.allowed, FAULT.byte, FAULT.pieces)
    assert again == FAULT
    assert hash(again) == hash(FAULT)
    with pytest.raises(AttributeError):
        FAULT.code = "other"
