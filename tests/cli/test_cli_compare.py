"""`wirelock compare`: two recorded sessions, the first field that differs, and counts."""

from __future__ import annotations

import json

import pytest

from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.cli.command import (
    SESSION,
    V1,
    capture_of,
    done,
    payloads_of,
    refused,
    run,
    run_all,
    shell,
    write,
)


@pytest.fixture
def other(tmp_path):
    """The sample session as it would be if one field of packet 201 were another, and packet 356 lost."""
    payloads = payloads_of(SESSION)
    changed = bytearray(payloads[201])
    changed[14] ^= 1
    payloads[201] = bytes(changed)
    del payloads[356]
    packets = [(number, 0, ethernet(ipv4(udp(data)))) for number, data in sorted(payloads.items())]
    return write(tmp_path / "other.pcap", pcap(packets))


def test_a_session_and_itself():
    assert done(run("compare", SESSION, SESSION)) == (
        f"304 records in {SESSION}, 304 in {SESSION}: 304 the same, 0 different, 0 in one only\n"
    )
    assert run("compare", SESSION, SESSION, "--by-order").code == 0


def test_the_first_field_that_differs(other):
    outcome = run("compare", SESSION, other)
    assert (outcome.code, outcome.err) == (1, "")
    width = max(len(str(SESSION)), len(str(other)))
    one, two = str(SESSION).ljust(width), str(other).ljust(width)
    assert outcome.out.splitlines() == [
        "first difference: snapshot v1 tick=44: entities[id=1].position.x",
        f"    {one}  packet 201  bytes 12..15  27 ba 9f c1  -19.9658947",
        f"    {two}  packet 201  bytes 12..15  27 ba 9e c1  -19.8408947",
        "differences by field:",
        "       1  snapshot v1  entities[].position.x",
        f"only in {SESSION}: 1 record",
        "    packet 356  snapshot v2 tick=79",
        f"304 records in {SESSION}, 303 in {other}: 302 the same, 1 different, 1 in one only",
    ]
    back = run("compare", other, SESSION).out.splitlines()
    assert back[5:7] == [f"only in {SESSION}: 1 record", "    packet 356  snapshot v2 tick=79"]


def test_json(other):
    outcome = run("compare", SESSION, other, "--format", "json")
    assert (outcome.code, outcome.err) == (1, "")
    assert json.loads(outcome.out) == {
        "a": str(SESSION),
        "b": str(other),
        "records": {"a": 304, "b": 303},
        "same": 302,
        "different": 1,
        "reordered": 0,
        "first": {
            "record": "snapshot v1",
            "key": {"tick": "44"},
            "path": "entities[id=1].position.x",
            "a": {
                "packet": 201, "number": None, "bytes": [12, 15], "place": "bytes 12..15",
                "octets": "27 ba 9f c1", "value": "-19.9658947",
            },
            "b": {
                "packet": 201, "number": None, "bytes": [12, 15], "place": "bytes 12..15",
                "octets": "27 ba 9e c1", "value": "-19.8408947",
            },
        },
        "fields": [{"record": "snapshot v1", "path": "entities[].position.x", "count": 1}],
        "only_in_a": [{"packet": 356, "number": None, "record": "snapshot v2", "key": {"tick": "79"}}],
        "only_in_b": [],
        "faults": {},
    }  # fmt: skip
    same = json.loads(done(run("compare", SESSION, SESSION, "--format", "json")))
    assert (same["first"], same["fields"], same["same"]) == (None, [], 304)


def test_elements_in_another_order_and_absent_ones(tmp_path):
    entity = V1[9:]
    second = b"\2" + entity[1:]
    head = V1[:7]
    a = write(tmp_path / "a.pcap", capture_of(head + b"\2\0" + entity + second))
    b = write(tmp_path / "b.pcap", capture_of(head + b"\2\0" + second + entity))
    outcome = run("compare", a, b)
    assert outcome.code == 1
    assert outcome.out.splitlines() == [
        "first difference: snapshot v1 tick=7: its elements are in another order",
        f"    {a}  packet 1",
        f"    {b}  packet 1",
        "       1  records with their elements in another order and nothing else",
        f"1 record in {a}, 1 in {b}: 0 the same, 1 different, 0 in one only",
    ]
    document = json.loads(run("compare", a, b, "--format", "json").out)
    assert (document["reordered"], document["first"]["path"]) == (1, None)
    c = write(tmp_path / "c.pcap", capture_of(head + b"\1\0" + second))
    lines = run("compare", a, c, "--key", "entities[].id").out.splitlines()
    assert lines[0] == "first difference: snapshot v1: count"
    assert "       1  snapshot v1  entities[]" in lines


def test_faults_that_one_session_has_more_of(tmp_path):
    a, b = write(tmp_path / "a.pcap", capture_of(V1, V1[:5])), write(tmp_path / "b.pcap", capture_of(V1))
    outcome = run("compare", a, b)
    assert outcome.code == 1
    assert outcome.out.splitlines()[0] == f"fault truncated: 1 in {a}, 0 in {b}"
    assert json.loads(run("compare", a, b, "--format", "json").out)["faults"] == {
        "truncated": {"a": 1, "b": 0}
    }


def test_many_records_of_one_session_only(tmp_path):
    a, b = write(tmp_path / "a.pcap", capture_of(*[V1] * 15)), write(tmp_path / "b.pcap", capture_of(V1))
    lines = run("compare", a, b).out.splitlines()
    assert lines[:2] == [f"only in {a}: 14 records", "    packet 2  snapshot v1 tick=7"]
    assert lines[-2] == "    and 4 more"
    document = json.loads(run("compare", a, b, "--format", "json").out)
    assert [item["packet"] for item in document["only_in_a"]] == list(range(2, 16))


def test_records_that_repeat_and_a_selection(pings, tmp_path):
    a = write(tmp_path / "a.pcap", capture_of((b"hePG\1\0\1PG\1\0\2", 1, 2), (b"x", 3, 4)))
    b = write(tmp_path / "b.pcap", capture_of((b"hePG\1\0\1PG\1\0\3", 2, 1)))
    outcome = run("compare", a, b, "--skip", 2, "--port", 2, "--as", "ping/v1", cwd=pings)
    assert outcome.code == 1
    assert outcome.out.splitlines()[:3] == [
        "first difference: ping v1: n",
        f"    {a}  packet 1 [1]  bytes 10..11  00 02  2",
        f"    {b}  packet 1 [1]  bytes 10..11  00 03  3",
    ]


def test_standard_input(other):
    text = SESSION.read_bytes()
    assert "304 records in -, 304 in" in done(run("compare", "-", SESSION, given=text))
    assert run("compare", other, "-", given=text).code == 1


WRONG = {
    "one capture": ((SESSION,), "Missing argument 'B'"),
    "three": ((SESSION, SESSION, SESSION), "unexpected extra argument"),
    "standard input twice": (("-", "-"), "only one of the captures can be standard input"),
    "not there": ((SESSION, "nope.pcap"), "nope.pcap: No such file or directory"),
    "a folder": (("fixtures", SESSION), "fixtures is a directory: name its captures"),
    "text": ((SESSION, "README.md"), "README.md: begins with"),
    "a key of nothing": (
        (SESSION, SESSION, "--key", "tock"),
        "--key: no version has the key tock; name",
    ),
    "a key that is a float": (
        (SESSION, SESSION, "--key", "entities[].position.x"),
        "the key entities[].position.x is a field of kind Float; name numbers",
    ),
    "keys and none": ((SESSION, SESSION, "--key", "tick", "--by-order"), "two ways to pair records"),
    "an unknown protocol": ((SESSION, SESSION, "--as", "nope"), "no protocol 'nope'"),
    "an unknown format": ((SESSION, SESSION, "--format", "csv"), "'csv' is not one of 'text', 'json'"),
}


@pytest.fixture(scope="module")
def wrong():
    return run_all({name: ("compare", *row) for name, (row, _) in WRONG.items()})


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line(wrong, name):
    refused(wrong[name], WRONG[name][1])


def test_a_reader_that_goes_away():
    assert shell("set -o pipefail; $W compare $S $S --format json | true").code in (0, 141)
