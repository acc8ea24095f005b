"""The format: what is read, what is refused, what is written, and what a hash covers."""

from __future__ import annotations

import copy
import json
import os
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wirelock.errors import GoldenError
from wirelock.golden import vectors
from wirelock.golden.vectors import (
    Case,
    GoldenFile,
    Pose,
    Refusal,
    add,
    case_hash,
    golden_hashes,
    read,
    read_text,
    text_of,
    write,
)

ROOT = Path(__file__).parents[2]
SCHEMA = jsonschema.Draft202012Validator(
    json.loads((ROOT / "fixtures/golden.schema.json").read_text("utf-8"))
)

VALID = {
    "id": "one", "comment": "A case.", "source": "hand", "flags": ["order"],
    "promises": ["decode-old", "encode-exact"], "bytes": "01ff", "result": "valid",
    "record": {"a": 1, "b": [-0.0]},
}  # fmt: skip
INVALID = {
    "id": "two", "comment": "A case.", "source": "capture", "flags": [],
    "bytes": "", "result": "invalid", "error": {"code": "truncated", "path": "", "byte": None},
}  # fmt: skip
POSE = {
    "id": "three", "comment": "A pose.", "source": "article", "flags": [], "direction": "encode",
    "quaternion": ["00000000", "7fc00000", "ff800000", "80000000"],
    "result": "invalid", "error": {"code": "rule:a-b"},
}  # fmt: skip
BACK = {
    "id": "four", "comment": "A pose.", "source": "generator", "flags": [], "direction": "decode",
    "bytes": "00", "result": "valid", "quaternion": ["3f800000", "00000000", "00000000", "00000000"],
}  # fmt: skip
FILE = {
    "$schema": "../golden.schema.json", "format": "wirelock-golden/1", "protocol": "p", "version": 1,
    "digest": "sha256:" + "0" * 64, "flags": {"order": "Bytes are swapped."},
    "cases": [VALID, INVALID], "poses": [POSE, BACK],
}  # fmt: skip


HASHES = [
    "sha256:ba000c704a8160df1897bf83d2aa535ea25981cfa23295700ad2db68321939bf",
    "sha256:f7b244eca9bc03a19ed5cd5886e4de1bbf85085804c7730f8da625de5e6e9692",
    "sha256:98e3394f3131564ab01c5a81d4813385a7c9b326d581917c1ae0205c274407f8",
    "sha256:0db4c5656a002163b4984c336fd3d06cb41323af660c4cead725fc917a484de7",
]


def made(**more):
    return copy.deepcopy(FILE) | more


def parsed(**more) -> GoldenFile:
    return read_text(json.dumps(made(**more)), "f")


# -- reading


def test_everything_that_is_allowed_is_read():
    file = parsed()
    assert (file.protocol, file.version, file.schema) == ("p", 1, "../golden.schema.json")
    assert file.flags == {"order": "Bytes are swapped."}
    one, two, three, four = file.vectors
    assert one == Case(
        id="one", comment="A case.", source="hand", flags=("order",), promises=vectors.PROMISES,
        data=b"\x01\xff", record={"a": 1, "b": [-0.0]},
    )  # fmt: skip
    assert isinstance(two, Case) and (two.data, two.error) == (b"", Refusal("truncated", "", None))
    assert isinstance(three, Pose) and (three.data, three.code) == (None, "rule:a-b")
    assert isinstance(four, Pose) and (four.data, four.code) == (b"\0", None)
    assert SCHEMA.is_valid(FILE)
    assert parsed(cases=[]).cases == ()
    del (bare := made())["poses"], bare["$schema"]
    assert read_text(json.dumps(bare), "f").poses == ()
    assert SCHEMA.is_valid(bare)


def test_promises_are_kept_in_one_order():
    backwards = VALID | {"promises": ["encode-exact", "decode-old"]}
    assert parsed(cases=[backwards]) == parsed(cases=[VALID])


BROKEN = {
    "a list": ([], "f: is no object"),
    "text": ("x", "f: is no object"),
    "another format": (made(format="x"), "f: the format 'x' is not wirelock-golden/1"),
    "no format": ({k: v for k, v in FILE.items() if k != "format"}, "f: format is missing"),
    "no cases": ({k: v for k, v in FILE.items() if k != "cases"}, "f: cases is missing"),
    "an unknown key": (made(notes="x"), "f: the key 'notes' is not known here"),
    "cases an object": (made(cases={}), "f: cases and poses are arrays"),
    "poses null": (made(poses=None), "f: cases and poses are arrays"),
    "the version a text": (made(version="1"), "f: version '1' is no whole number"),
    "the version true": (made(version=True), "f: version True is no whole number"),
    "the version negative": (made(version=-1), "f: version -1 is no whole number"),
    "the protocol empty": (made(protocol=""), "f: protocol is no text"),
    "the schema a number": (made(**{"$schema": 1}), "f: $schema is no text"),
    "the digest short": (made(digest="sha256:00"), "f: digest 'sha256:00' is not sha256: and 64 hex digits"),
    "flags an array": (made(flags=["order"]), "f: flags is no object"),
    "a flag's name": (made(flags={"Order": "x"}), "f: the flag 'Order' is not lower-case words with hyphens"),
    "a flag's text": (made(flags={"order": " "}), "f: flag: order is no text"),
    "a case null": (made(cases=[VALID, None]), "f: case number 2: is no object"),
    "a case without id": (
        made(cases=[{k: v for k, v in VALID.items() if k != "id"}]),
        "f: case number 1: id is missing",
    ),
    "an id with capitals": (
        made(cases=[VALID | {"id": "One"}]),
        "f: case number 1: id 'One' is not lower-case words with hyphens",
    ),
    "an id with a line end": (
        made(cases=[VALID | {"id": "one\n"}]),
        "f: case number 1: id 'one\\n' is not lower-case words with hyphens",
    ),
    "no comment": (made(cases=[VALID | {"comment": ""}]), "f: case one: comment is no text"),
    "an unknown source": (
        made(cases=[VALID | {"source": "me"}]),
        "f: case one: source 'me' is none of hand, capture, article, generator",
    ),
    "a source that is a list": (
        made(cases=[VALID | {"source": ["hand"]}]),
        "f: case one: source ['hand'] is none of hand, capture, article, generator",
    ),
    "flags a text": (made(cases=[VALID | {"flags": "order"}]), "f: case one: flags is no array of texts"),
    "a flag twice": (
        made(cases=[VALID | {"flags": ["order", "order"]}]),
        "f: case one: flags names something twice",
    ),
    "no result": (
        made(cases=[{k: v for k, v in VALID.items() if k != "result"}]),
        "f: case one: result is missing",
    ),
    "a third result": (
        made(cases=[VALID | {"result": "acceptable"}]),
        "f: case one: result 'acceptable' is none of valid, invalid",
    ),
    "valid with an error": (
        made(cases=[VALID | {"error": INVALID["error"]}]),
        "f: case one: the key 'error' is not known here",
    ),
    "valid without a record": (
        made(cases=[{k: v for k, v in VALID.items() if k != "record"}]),
        "f: case one: record is missing",
    ),
    "a record that is a list": (made(cases=[VALID | {"record": []}]), "f: case one: record is no object"),
    "no promises": (made(cases=[VALID | {"promises": []}]), "f: case one: promises nothing"),
    "an unknown promise": (
        made(cases=[VALID | {"promises": ["encode"]}]),
        "f: case one: promises: 'encode' is none of decode-old, encode-exact",
    ),
    "a promise twice": (
        made(cases=[VALID | {"promises": ["decode-old", "decode-old"]}]),
        "f: case one: promises names something twice",
    ),
    "half a byte": (
        made(cases=[VALID | {"bytes": "01f"}]),
        "f: case one: bytes '01f' are not pairs of lower-case hex digits",
    ),
    "capital hex": (
        made(cases=[VALID | {"bytes": "01FF"}]),
        "f: case one: bytes '01FF' are not pairs of lower-case hex digits",
    ),
    "spaces in hex": (
        made(cases=[VALID | {"bytes": "01 ff"}]),
        "f: case one: bytes '01 ff' are not pairs of lower-case hex digits",
    ),
    "bytes null": (
        made(cases=[VALID | {"bytes": None}]),
        "f: case one: bytes None are not pairs of lower-case hex digits",
    ),
    "invalid with a record": (
        made(cases=[INVALID | {"record": {}}]),
        "f: case two: the key 'record' is not known here",
    ),
    "invalid with promises": (
        made(cases=[INVALID | {"promises": ["decode-old"]}]),
        "f: case two: the key 'promises' is not known here",
    ),
    "an error that is a code": (
        made(cases=[INVALID | {"error": "truncated"}]),
        "f: case two: error: is no object",
    ),
    "an error without byte": (
        made(cases=[INVALID | {"error": {"code": "truncated", "path": ""}}]),
        "f: case two: error: byte is missing",
    ),
    "a byte below zero": (
        made(cases=[INVALID | {"error": {"code": "truncated", "path": "", "byte": -1}}]),
        "f: case two: error: byte -1 is neither a byte's number nor null",
    ),
    "a byte that is true": (
        made(cases=[INVALID | {"error": {"code": "truncated", "path": "", "byte": True}}]),
        "f: case two: error: byte True is neither a byte's number nor null",
    ),
    "a path that is null": (
        made(cases=[INVALID | {"error": {"code": "truncated", "path": None, "byte": 0}}]),
        "f: case two: error: path is no text",
    ),
    "a code in words": (
        made(cases=[INVALID | {"error": {"code": "cut short", "path": "", "byte": 0}}]),
        "f: case two: error: code 'cut short' is not a code",
    ),
    "a pose without direction": (
        made(poses=[{k: v for k, v in POSE.items() if k != "direction"}]),
        "f: pose three: direction is missing",
    ),
    "a third direction": (
        made(poses=[POSE | {"direction": "both"}]),
        "f: pose three: direction 'both' is none of encode, decode",
    ),
    "a refused quaternion with bytes": (
        made(poses=[POSE | {"bytes": "00"}]),
        "f: pose three: the key 'bytes' is not known here",
    ),
    "a pose's error with a path": (
        made(poses=[POSE | {"error": {"code": "out-of-range", "path": ""}}]),
        "f: pose three: error: the key 'path' is not known here",
    ),
    "three numbers": (
        made(poses=[POSE | {"quaternion": ["00000000"] * 3}]),
        "f: pose three: quaternion is no array of four",
    ),
    "numbers as such": (
        made(poses=[POSE | {"quaternion": [0, 0, 0, 1]}]),
        "f: pose three: quaternion: 0 is not the 8 hex digits of a binary32",
    ),
    "a signalling NaN": (
        made(poses=[POSE | {"quaternion": ["00000000"] * 3 + ["ff800001"]}]),
        "f: pose three: quaternion: ff800001 is a signalling NaN, which no call can pass on",
    ),
    "a decode pose without bytes": (
        made(poses=[{k: v for k, v in BACK.items() if k != "bytes"}]),
        "f: pose four: bytes is missing",
    ),
    "a decode pose without quaternion": (
        made(poses=[{k: v for k, v in BACK.items() if k != "quaternion"}]),
        "f: pose four: quaternion is missing",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_not_of_the_format_is_refused_in_one_line(name):
    found, message = BROKEN[name]
    with pytest.raises(GoldenError) as caught:
        read_text(json.dumps(found), "f")
    assert str(caught.value) == message


@pytest.mark.parametrize("name", BROKEN)
def test_the_json_schema_refuses_it_too(name):
    assert not SCHEMA.is_valid(BROKEN[name][0]) or name == "an id with a line end"  # $ of Python's re


BEYOND_JSON_SCHEMA = {
    "an id twice": (json.dumps(made(cases=[VALID, VALID])), "f: case one: the id is there twice"),
    "a pose with a case's id": (
        json.dumps(made(poses=[POSE | {"id": "one"}])),
        "f: pose one: the id is there twice",
    ),
    "a flag that is not explained": (
        json.dumps(made(flags={})),
        "f: case one: the flag order is not explained in the file",
    ),
    "a key twice": (
        json.dumps(FILE).replace('"bytes": "01ff"', '"bytes": "01ff", "bytes": "02"'),
        "f: the key 'bytes' is there twice in one object",
    ),
    "NaN": (json.dumps(FILE).replace("-0.0", "NaN"), "f: NaN is no number of JSON's that every reader keeps"),
    "a float too large": (
        json.dumps(FILE).replace("-0.0", "-1e999"),
        "f: -1e999 is no number of JSON's that every reader keeps",
    ),
    "half a surrogate pair": (
        json.dumps(FILE).replace("A case.", "\\ud800"),
        "f: a text holds half a surrogate pair",
    ),
    "a byte-order mark": (
        "\ufeff" + json.dumps(FILE),
        "f: begins with a byte-order mark: save it as UTF-8 without one",
    ),
    "nothing": ("", "f: line 1 column 1: Expecting value"),
    "cut": (json.dumps(FILE)[:-1], "f: line 1 column"),
    "more behind it": (json.dumps(FILE) + "\n{}", "f: line 2 column 1: Extra data"),
    "a comma too many": ('{"format": "wirelock-golden/1",}', "f: line 1 column"),
    "an endless number": (json.dumps(FILE).replace("-0.0", "9" * 5000), "f: Exceeds the limit"),
    "an endless array": ("[" * 100_000, "f: is nested too deep"),
}


@pytest.mark.parametrize("name", BEYOND_JSON_SCHEMA)
def test_what_only_a_strict_reader_notices(name):
    text, message = BEYOND_JSON_SCHEMA[name]
    with pytest.raises(GoldenError) as caught:
        read_text(text, "f")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@given(st.data())
def test_a_file_that_was_damaged_is_read_or_refused(data):
    text = text_of(parsed())
    at = data.draw(st.integers(0, len(text) - 1))
    put = data.draw(st.text(max_size=3))
    damaged = text[:at] + put + text[at + data.draw(st.integers(0, 5)) :]
    try:
        file = read_text(damaged, "f")
    except GoldenError as error:
        assert str(error).startswith("f: ") and "\n" not in str(error)
    else:
        assert read_text(text_of(file), "f") == file


def test_files_that_cannot_be_opened(tmp_path):
    with pytest.raises(GoldenError, match=r"v1\.json: cannot be read: No such file"):
        read(tmp_path / "v1.json")
    with pytest.raises(GoldenError, match="cannot be read: Is a directory"):
        read(tmp_path)
    (tmp_path / "v1.json").write_bytes(b"{\xff}")
    with pytest.raises(GoldenError, match=r"^x: is not UTF-8: invalid start byte at byte 1$"):
        read(tmp_path / "v1.json", "x")


# -- writing


def test_the_text_is_the_same_whatever_was_read():
    text = text_of(parsed())
    shuffled = {key: made()[key] for key in reversed(FILE)}
    shuffled["cases"] = [{key: case[key] for key in reversed(case)} for case in shuffled["cases"]]
    assert text_of(read_text(json.dumps(shuffled, indent=7), "f")) == text
    assert text_of(read_text(text, "f")) == text
    assert text.endswith("}\n") and "\r" not in text
    assert '      "record": {"a": 1, "b": [-0.0]}\n' in text


def test_a_line_a_key_and_long_records_by_field():
    long = VALID | {"record": {"name": "x" * 60, "list": ["y" * 50, {"z": "w" * 70}], "empty": [], "n": 1}}
    text = text_of(parsed(cases=[long]))
    assert [line for line in text.splitlines() if line.startswith("      ")][7:17] == [
        '      "record": {',
        f'        "name": "{"x" * 60}",',
        '        "list": [',
        f'          "{"y" * 50}",',
        f'          {{"z": "{"w" * 70}"}}',
        "        ],",
        '        "empty": [],',
        '        "n": 1',
        "      }",
        '      "id": "three",',
    ]
    assert json.loads(text)["cases"][0] == long


def test_letters_of_all_scripts_stay_as_they_are(tmp_path):
    file = parsed(cases=[VALID | {"comment": 'größer: "🙂" \\ \u2028 \x01'}])
    write(tmp_path / "v1.json", file)
    assert read(tmp_path / "v1.json") == file
    assert 'größer: \\"🙂\\" \\\\ \u2028 \\u0001' in (tmp_path / "v1.json").read_text("utf-8")


def test_a_new_case_is_new_lines_and_nothing_else():
    """V7."""
    file = parsed(poses=[])
    grown = add(file, replace(file.cases[0], id="five"))
    old, new = text_of(file).splitlines(), text_of(grown).splitlines()
    last = len(old) - next(i for i, line in enumerate(reversed(old)) if line == "  ]") - 1
    assert new[: last - 1] == old[: last - 1]
    assert new[last - 1] == old[last - 1] + ","
    assert new[-2:] == old[-2:]
    assert len(new) == len(old) + 10


def test_add_refuses_what_could_not_be_read():
    file = parsed()
    one = file.cases[0]
    with pytest.raises(GoldenError, match="p v1: case one: the id is there twice"):
        add(file, one)
    with pytest.raises(GoldenError, match="p v1: case five: the flag new is not explained in the file"):
        add(file, replace(one, id="five", flags=("new",)))
    with pytest.raises(GoldenError, match="case number 3: id 'Five' is not lower-case words"):
        add(file, replace(one, id="Five"))
    assert add(file, replace(file.poses[0], id="five")).poses[-1].id == "five"
    assert add(file) == file


def test_writing_makes_folders_and_keeps_modes(tmp_path):
    path = tmp_path / "p" / "v1.json"
    write(path, parsed())
    assert read(path) == parsed()
    assert path.stat().st_mode & 0o777 == 0o644
    path.chmod(0o600)
    write(path, parsed(cases=[]))
    assert path.stat().st_mode & 0o777 == 0o600
    assert [item.name for item in path.parent.iterdir()] == ["v1.json"]


def test_writing_follows_a_link(tmp_path):
    real, link = tmp_path / "real.json", tmp_path / "v1.json"
    write(real, parsed())
    link.symlink_to(real)
    write(link, parsed(cases=[]))
    assert link.is_symlink() and read(real).cases == ()


@pytest.mark.parametrize("step", ["fsync", "replace", "write", "chmod"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_the_old_file_stays_whole_whatever_fails(tmp_path, monkeypatch, step, error):
    """V7."""
    path = tmp_path / "v1.json"
    write(path, parsed())
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patched:
        if step == "fsync":
            patched.setattr(os, "fsync", fail)
        elif step == "write":
            opened = os.fdopen

            def fdopen(*arguments, **named):
                stream = opened(*arguments, **named)
                stream.write = fail
                return stream

            patched.setattr(os, "fdopen", fdopen)
        else:
            patched.setattr(Path, step, fail)
        with pytest.raises(type(error)):
            write(path, parsed(cases=[]))
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["v1.json"]


def test_what_does_not_read_back_is_not_written(tmp_path):
    path = tmp_path / "v1.json"
    write(path, parsed())
    before = path.read_bytes()
    for wrong in (
        replace(parsed(), digest="none"),
        replace(parsed(), flags={}),
        replace(parsed(), cases=(parsed().cases[0],) * 2),
        replace(parsed(), cases=(replace(parsed().cases[0], promises=()),)),
    ):
        with pytest.raises(GoldenError):
            write(path, wrong)
    with pytest.raises(ValueError):
        write(path, replace(parsed(), cases=(replace(parsed().cases[0], record={"a": float("nan")}),)))
    assert path.read_bytes() == before


# -- hashes


def test_a_hash_covers_what_a_client_relies_on():
    one, two, three, four = parsed().vectors
    assert (
        isinstance(one, Case) and isinstance(two, Case) and isinstance(three, Pose) and isinstance(four, Pose)
    )
    changed = [
        (one, {"id": "x"}),
        (one, {"data": b"\x01\xfe"}),
        (one, {"record": {"a": 1, "b": [0.0]}}),
        (one, {"record": {"a": 1, "b": [0]}}),
        (one, {"record": {"a": True, "b": [-0.0]}}),
        (one, {"promises": ("decode-old",)}),
        (two, {"error": Refusal("truncated", "", 0)}),
        (two, {"error": Refusal("truncated", "a", None)}),
        (two, {"error": Refusal("constant", "", None)}),
        (three, {"quaternion": ("00000000",) * 4}),
        (three, {"code": "out-of-range"}),
        (three, {"code": None, "data": b""}),
        (four, {"quaternion": ("00000000",) * 4}),
        (four, {"data": b"\1"}),
    ]
    hashes = [case_hash(vector) for vector in (one, two, three, four)]
    hashes += [case_hash(replace(vector, **change)) for vector, change in changed]
    assert len(set(hashes)) == len(hashes)
    for vector in (one, two, three, four):
        free = replace(vector, comment="Other words.", source="generator", flags=())
        assert case_hash(free) == case_hash(vector)
    shuffled = replace(one, record={"b": [-0.0], "a": 1})
    assert case_hash(shuffled) == case_hash(one)


def test_a_hash_is_what_it_was():
    """Locks hold these: they may not change from one release to the next."""
    assert [case_hash(vector) for vector in parsed().vectors] == HASHES


def test_the_hashes_of_a_registry(goldens, tmp_path, small):
    for name, found in goldens().items():
        path = tmp_path / f"{name}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(found), "utf-8")
    hashes = golden_hashes(tmp_path, small)
    assert {name: list(versions) for name, versions in hashes.items()} == {"lamp": [1], "lists": [1, 2]}
    assert list(hashes["lamp"][1]) == ["red", "cut", "too-bright", "green"]
    assert all(text.startswith("sha256:") for text in hashes["lamp"][1].values())
    (tmp_path / "lists/v2.json").unlink()
    assert golden_hashes(tmp_path, small)["lists"][2] == {}
    (tmp_path / "lists/v1.json").rename(tmp_path / "lists/v2.json")
    with pytest.raises(GoldenError, match=r"lists/v2\.json: holds lists v1, not lists v2"):
        golden_hashes(tmp_path, small)
