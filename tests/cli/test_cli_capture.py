"""`wirelock capture info`: what it says of files of every format, and that its numbers add up."""

import gzip
import json

import pytest
from click.testing import CliRunner

from tests.capture.capture_writer import Blocks, ethernet, fragment_of, ipv4, pcap, udp, vxlan
from tests.cli.command import ROOT, done, refused, run, write
from wirelock.capture import contents
from wirelock.cli import command

CAPTURES = sorted((ROOT / "fixtures/captures").glob("*.pcap*"))
BLOCKS = Blocks(">")
ARP = ethernet(bytes(28), 0x0806)
HI = ethernet(ipv4(udp(b"hi")))
INSIDE = ethernet(ipv4(udp(vxlan(HI), source=1, destination=4789)))
MIXED = (
    BLOCKS.section(options=BLOCKS.option(4, b"a\nwriter\xff"))
    + BLOCKS.interface(resolution=9, snaplen=96, options=BLOCKS.option(2, "größe".encode()))
    + BLOCKS.interface(link=147, resolution=0x8A, offset=-5)
    + BLOCKS.enhanced(HI, ticks=2 * 10**9, original=99)
    + BLOCKS.enhanced(INSIDE, ticks=3 * 10**9 + 5)
    + BLOCKS.enhanced(HI, interface=1)
    + BLOCKS.block(1, b"")
    + BLOCKS.block(5, bytes(20))
    + BLOCKS.simple(ethernet(fragment_of(udp(bytes(72)), 0, 40)))
    + BLOCKS.simple(ARP)
    + BLOCKS.enhanced(HI, interface=2)
)
PACKED = gzip.compress(MIXED)
MIXED_TEXT = """\
FILE: 684 bytes
pcapng 1.0, big-endian, written by a\ufffdwriter\ufffd
  interface 0: größe, Ethernet (link type 1), 1 ns, at most 96 bytes, 4 packets
  interface 1: a link that is not read (link type 147), 1/1024 s, times from -5 s on, whole packets, 1 packet
  interface 2: cannot be read
5 packets, 298 of 353 bytes captured
from 1969-12-31T23:59:55.000000000Z to 1970-01-01T00:00:03.000000005Z, 8.000000005 s
       2  without a time
       2  UDP datagrams
       1  arp
       2  that cannot be read
2 flows:
       1  10.0.0.1:1111 -> 10.0.0.2:2222, 2 bytes
       1  10.0.0.1:1 -> 10.0.0.2:4789, 52 bytes
       1  fault bad-block
       1  fault fragment-missing
       1  fault link-type
       1  fault no-interface
bytes: 432 packets, 132 headers, 32 in 1 skipped block, 88 lost
"""


def told(path, *options, given=None):
    """Run in this process; return what is printed."""
    outcome = CliRunner().invoke(command, ["capture", "info", str(path), *options], input=given)
    assert (outcome.exit_code, outcome.stderr) == (0, ""), outcome
    return outcome.stdout


def document(path, *options):
    return json.loads(told(path, "--format", "json", *options))


def test_everything_that_can_be_said(tmp_path):
    path = write(tmp_path / "mixed", MIXED)
    assert told(path).replace(str(path), "FILE") == MIXED_TEXT


def test_a_pipe_of_gzip():
    text = told("-", given=PACKED)
    assert text.splitlines()[0] == f"standard input: 684 bytes, unpacked from {len(PACKED)} of gzip"
    assert text.splitlines()[1:] == MIXED_TEXT.splitlines()[1:]
    assert done(run("capture", "info", "-", given=PACKED)) == text


def test_tunnels(tmp_path):
    path = write(tmp_path / "mixed", MIXED)
    assert "       2  10.0.0.1:1111 -> 10.0.0.2:2222, 4 bytes\n" in told(path, "--tunnels")


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.stem)
def test_the_numbers_add_up(path):
    found = document(path)
    size = found["bytes"]
    assert size.pop("as_stored") == size.pop("file") == sum(size.values()) == path.stat().st_size
    others = sum(found["other_traffic"].values())
    assert found["packets"] == found["datagrams"] + found["fragments"] + found["refused"] + others
    assert found["packets"] == sum(found["link_types"].values())
    assert found["packets"] == sum(i["packets"] for s in found["sections"] for i in s["interfaces"])
    assert found["datagrams"] == sum(flow["datagrams"] for flow in found["flows"])


def test_json_has_what_the_text_has(tmp_path):
    found = document(write(tmp_path / "mixed", MIXED))
    [section] = found["sections"]
    assert (section["format"], section["byte_order"], found["section_count"]) == ("pcapng 1.0", "big", 1)
    assert section["interfaces"] == [
        {"name": "größe", "link_type": 1, "link": "Ethernet", "snaplen": 96,
         "ticks_per_second": "1000000000", "time_offset": "0", "packets": 4},
        {"name": None, "link_type": 147, "link": "a link that is not read", "snaplen": 0,
         "ticks_per_second": "1024", "time_offset": "-5", "packets": 1},
        None,
    ]  # fmt: skip
    assert (found["first_ns"], found["last_ns"], found["timeless"]) == ("-5000000000", "3000000005", 2)
    assert found["faults"] == {"bad-block": 1, "fragment-missing": 1, "link-type": 1, "no-interface": 1}
    assert (found["compression"], found["skipped_blocks"]) == (None, 1)
    assert found["flows"][0] == {
        "source": "10.0.0.1", "source_port": 1111, "destination": "10.0.0.2", "destination_port": 2222,
        "datagrams": 1, "bytes": 2,
    }  # fmt: skip


RESOLUTIONS = {0: "1/1 s", 3: "1 ms", 4: "100 us", 6: "1 us", 7: "100 ns", 9: "1 ns", 12: "1/1000000000000 s"}


def test_resolutions_and_long_lists(tmp_path):
    interfaces = [BLOCKS.interface(resolution=number) for number in RESOLUTIONS]
    lost = BLOCKS.interface(options=BLOCKS.option(9, b""))
    section = BLOCKS.section() + b"".join(interfaces) + lost
    lines = told(write(tmp_path / "a", section)).splitlines()
    assert [line.split(", ")[1] for line in lines[2:10]] == [*RESOLUTIONS.values(), "resolution not known"]
    text = told(write(tmp_path / "b", (BLOCKS.section() + BLOCKS.interface() * 12) * 13))
    assert text.count("pcapng 1.0") == 10
    assert text.count("\n  and 2 more interfaces\n") == 10
    assert "\nand 3 more sections\n" in text


def test_flows_are_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "MOST_FLOWS", 11)
    packets = [(1, 0, ethernet(ipv4(udp(b"hi", source=number)))) for number in range(15)]
    path = write(tmp_path / "flows", pcap(packets + packets[:1]))
    text = told(path)
    assert "11 flows:\n       2  10.0.0.1:0 -> 10.0.0.2:2222, 4 bytes\n" in text
    assert "       5  in other flows, 10 bytes\n" in text
    assert document(path)["other_flows"] == {"datagrams": 4, "bytes": 8}


def test_an_empty_capture(tmp_path):
    lines = told(write(tmp_path / "none", pcap([], link=0x5400_0071))).splitlines()
    assert lines[1:] == [
        "pcap 2.4, little-endian",
        "  interface 0: Linux cooked (link type 113), 1 us, at most 262144 bytes, 0 packets",
        "0 packets, 0 of 0 bytes captured",
        "       0  UDP datagrams",
        "no faults",
        "bytes: 0 packets, 24 headers, 0 in 0 skipped blocks, 0 lost",
    ]


def test_what_is_no_capture_is_one_line(tmp_path):
    refused(run("capture", "info", write(tmp_path / "text", "text"), cwd=tmp_path), "as no capture does")
    refused(run("capture", "info", tmp_path), "is a directory")
