"""Hello and negotiation: two peers find the version that both speak alike, over a real socket too."""

import json
import pickle
import socket
import subprocess
import sys
import textwrap

import pytest
from construct import Array, Byte, Const, Int16sb, Int16sl, Struct, this
from hypothesis import given
from hypothesis import strategies as st

from protocol import PROTOCOLS
from wirelock import Hello, NegotiationError, Protocol, Record, Rule
from wirelock.schema.negotiation import MAX_TEXT

SNAPSHOT = PROTOCOLS["snapshot"]


def versions(x=Int16sl, rule=(), name="p", repeats=False, retired=(), last=3):
    """A protocol of three versions; what v2 is like is up to the arguments."""

    class Point(Record, layout=Struct("x" / x), rules=rule):
        x: int

    def path(number, element):
        class Path(
            Record,
            layout=Struct("v" / Const(number, Byte), "n" / Byte, "points" / Array(this.n, element.layout)),
        ):
            v: int
            n: int
            points: tuple[element, ...]

        return Path

    class Fixed(Record, layout=Struct("y" / Byte)):
        y: int

    made = {1: path(1, Fixed), 2: path(2, Point), 3: path(3, Fixed)}
    kept = {number: record for number, record in made.items() if number <= last}
    return Protocol(name, kept, tag=("v",), repeats=repeats, retired=retired)


OURS = versions()


def test_the_highest_common_version_is_agreed_on():
    assert OURS.negotiate(OURS.hello()) == (3, ())
    assert OURS.negotiate(versions(last=2).hello()).version == 2
    assert versions(last=1).negotiate(OURS.hello()).version == 1
    assert OURS.negotiate(versions(x=Int16sb).hello()).version == 3


def test_a_version_that_differs_is_named_and_a_lower_one_taken():
    agreed = versions(last=2).negotiate(versions(x=Int16sb, last=2).hello())
    assert agreed.version == 1
    assert [str(item) for item in agreed.disagreements] == ["v2 differs at points[].x"]


RULE = Rule("small", this.x < 5)
# name: (their protocol, the field that differs)
DIFFERENT = {
    "a byte order": (versions(x=Int16sb, last=2, retired=[1]), "points[].x"),
    "a rule": (versions(rule=[RULE], last=2, retired=[1]), "points[]:small"),
    "what is repeated": (versions(repeats=True, last=2, retired=[1]), "the record"),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_where_nothing_is_common_the_version_and_field_are_named(name):
    """V5: "does not match" helps nobody."""
    theirs, path = DIFFERENT[name]
    for ours, other in ((OURS, theirs), (theirs, OURS)):
        with pytest.raises(NegotiationError) as caught:
            ours.negotiate(other.hello())
        found = caught.value.disagreement
        assert (found.version, found.path) == (2, path)
        assert f"v2 differs at {path}" in str(caught.value)
        assert "compare both locks" in caught.value.remedy


def test_retired_versions_are_read_but_not_offered():
    retired = versions(retired=[3])
    assert [item.version for item in retired.hello().offers] == [2, 1]
    assert retired.negotiate(OURS.hello()).version == 2
    assert retired.parse(b"\3\0").n == 0


def test_without_a_common_version_both_sides_are_listed():
    with pytest.raises(NegotiationError) as caught:
        versions(retired=[1, 2]).negotiate(versions(last=2).hello())
    assert str(caught.value) == "p: no version is spoken by both: ours are v3 and theirs are v2, v1"
    with pytest.raises(NegotiationError, match="the peer speaks 'q'"):
        OURS.negotiate(versions(name="q").hello())


def test_a_hello_survives_json_and_pickling():
    hello = SNAPSHOT.hello()
    assert Hello.from_json(hello.to_json()) == hello == Hello.from_json(hello.to_json().encode())
    assert pickle.loads(pickle.dumps(hello)) == hello
    assert hello.offers[0].fingerprint == SNAPSHOT.digest(3).removeprefix("sha256:")[:16]
    assert "\n" not in hello.to_json()


def test_a_class_name_or_documentation_changes_no_fingerprint():
    class Renamed(Record, layout=Struct("v" / Const(1, Byte), "x" / Byte)):
        """Other words."""

        v: int
        x: int
        """And more."""

    class Named(Record, layout=Struct("v" / Const(1, Byte), "x" / Byte)):
        v: int
        x: int

    assert Protocol("p", {1: Renamed}, tag="v").hello() == Protocol("p", {1: Named}, tag="v").hello()


GOOD = json.loads(OURS.hello().to_json())
BAD = {
    "no JSON": "{",
    "no object": "[]",
    "nothing": "",
    "a number": "5",
    "a truth for a format": json.dumps(GOOD | {"wirelock_hello": True}),
    "another format": json.dumps(GOOD | {"wirelock_hello": 2}),
    "no protocol": json.dumps(GOOD | {"protocol": 5}),
    "no versions": json.dumps(GOOD | {"versions": []}),
    "a version that is none": json.dumps(GOOD | {"versions": {"x": {"fingerprint": "0" * 16, "parts": {}}}}),
    "a huge version": json.dumps(GOOD | {"versions": {"9" * 5000: {"fingerprint": "0" * 16, "parts": {}}}}),
    "a fingerprint that is none": json.dumps(GOOD | {"versions": {"1": {"fingerprint": "xyz", "parts": {}}}}),
    "a part that is none": json.dumps(
        GOOD | {"versions": {"1": {"fingerprint": "0" * 16, "parts": {"a": 5}}}}
    ),
    "deep": "[" * 100000,
    "long": " " * (MAX_TEXT + 1),
    "not text": b"\xff\xfe",
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_hello_is_refused_in_one_line(name):
    with pytest.raises(NegotiationError) as caught:
        OURS.negotiate(BAD[name])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


@given(st.text(max_size=200) | st.recursive(
    st.none() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["wirelock_hello", "protocol", "versions", "1", "fingerprint", "parts"]), inner
    ), max_leaves=12,
).map(json.dumps))  # fmt: skip
def test_any_text_is_a_hello_or_refused(text):
    try:
        OURS.negotiate(text)
    except NegotiationError as error:
        assert str(error).isprintable()


def test_what_a_peer_sent_does_not_fill_the_log():
    parts = dict(GOOD["versions"]["1"]["parts"]) | {"x" * 9000: "0" * 8}
    for versions in (
        {"1": {"fingerprint": "0" * 16, "parts": parts}},
        {str(number): {"fingerprint": "0" * 16, "parts": {}} for number in range(100, 3000)},
    ):
        with pytest.raises(NegotiationError) as caught:
            OURS.negotiate(json.dumps(GOOD | {"versions": versions}))
        assert len(str(caught.value)) < 300


def test_a_path_of_the_peers_does_not_reach_a_terminal_as_it_is():
    offer = {"fingerprint": "0" * 16, "parts": dict(GOOD["versions"]["1"]["parts"]) | {"\x1b[31m": "0" * 8}}
    hello = json.dumps(GOOD | {"versions": {"1": offer}})
    with pytest.raises(NegotiationError) as caught:
        OURS.negotiate(hello)
    assert str(caught.value).isprintable()


PEER = """
    import json, socket, sys
    from construct import Byte, Const, Int16sb, Int16sl, Struct
    from wirelock import NegotiationError, Protocol, Record

    class Pose(Record, layout=Struct("a" / {kind})):
        a: int

    class V1(Record, layout=Struct("v" / Const(1, Byte), "x" / Byte)):
        v: int
        x: int

    class V2(Record, layout=Struct("v" / Const(2, Byte), "pose" / Pose.layout)):
        v: int
        pose: Pose

    ours = Protocol("game", {versions}, tag="v")
    server = {server}
    line = server.makefile("rw", encoding="utf-8", newline="\\n")
    line.write(ours.hello().to_json() + "\\n")
    line.flush()
    try:
        agreed = ours.negotiate(line.readline())
        print(agreed.version, *agreed.disagreements)
    except NegotiationError as error:
        print("refused:", error)
"""


def talk(tmp_path, first, second):
    """Let two processes with these locks say hello to each other; return what each prints."""
    with socket.socket() as waiting:
        waiting.bind(("127.0.0.1", 0))
        port = waiting.getsockname()[1]
    listen = f"socket.create_server(('127.0.0.1', {port})).accept()[0]"
    dial = f"connect({port})"
    helper = textwrap.dedent("""
        import socket, time

        def connect(port):
            for _ in range(200):
                try:
                    return socket.create_connection(("127.0.0.1", port))
                except ConnectionRefusedError:
                    time.sleep(0.05)
            raise TimeoutError(port)
        """)
    running = []
    for number, (side, server) in enumerate(((first, listen), (second, dial))):
        script = tmp_path / f"peer{number}.py"
        script.write_text(helper + textwrap.dedent(PEER).format(server=server, **side))
        running.append(
            subprocess.Popen(
                [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            )
        )
    found = []
    for process in running:
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
        found.append(out.strip())
    return found


BOTH = {"kind": "Int16sl", "versions": "{1: V1, 2: V2}"}
SWAPPED = {"kind": "Int16sb", "versions": "{1: V1, 2: V2}"}
TWO_ONLY = {"kind": "Int16sl", "versions": "{2: V2}"}
SWAPPED_TWO = {"kind": "Int16sb", "versions": "{2: V2}"}
ONE_ONLY = {"kind": "Int16sl", "versions": "{1: V1}"}
TALKS = {
    "alike": (BOTH, BOTH, "2"),
    "one is older": (BOTH, ONE_ONLY, "1"),
    "an edited layout": (BOTH, SWAPPED, "1 v2 differs at pose.a"),
    "nothing in common": (
        TWO_ONLY,
        SWAPPED_TWO,
        "refused: game: v2 differs at pose.a; one side has an edited layout: compare both locks",
    ),
}


@pytest.mark.parametrize("name", TALKS)
def test_two_processes_with_different_locks(name, tmp_path):
    first, second, said = TALKS[name]
    assert talk(tmp_path, first, second) == [said, said]
