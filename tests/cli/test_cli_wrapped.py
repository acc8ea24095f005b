"""Captures as they come: compressed, through a pipe, in fragments, in tunnels. Every command that reads
captures reads the same of them."""

import gzip
import json

import pytest
from click.testing import CliRunner

from tests.capture.capture_writer import ethernet, fragment_of, gtp, ipv4, pcap, udp, zstd_of
from tests.cli.command import ROOT, SESSION, V1, V2, copy_project, done, run, write
from wirelock.cli import command

PLAIN = SESSION.read_bytes()
PAYLOAD = udp(V1)
FIRST, LAST = (ethernet(fragment_of(PAYLOAD, *ends)) for ends in [(0, 24), (24, len(PAYLOAD))])
LONE = ethernet(fragment_of(PAYLOAD, 0, 16, number=8))
TUNNEL = ethernet(ipv4(udp(gtp(ipv4(udp(V2))), destination=2152)))
WRAPPED = pcap([(second, 0, data) for second, data in enumerate([LONE, LAST, FIRST, TUNNEL])])


@pytest.fixture(autouse=True)
def here(monkeypatch):
    monkeypatch.chdir(ROOT)


def told(*arguments, given=None, code=0):
    """Run in this process; return (standard output, standard error)."""
    outcome = CliRunner().invoke(command, [str(argument) for argument in arguments], input=given)
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    assert (outcome.return_value if outcome.exception is None else outcome.exit_code) in (code, None)
    return outcome.stdout, outcome.stderr


@pytest.mark.parametrize("pack", [gzip.compress, zstd_of], ids=["gzip", "zstd"])
def test_compressed_files_and_pipes_read_as_plain_ones(tmp_path, pack):
    path = write(tmp_path / "session", pack(PLAIN))
    wanted = told("decode", SESSION, "--format", "jsonl")
    rows, text = told("decode", path, "--format", "jsonl")
    assert (rows, text.replace(str(path), str(SESSION))) == wanted
    rows, text = told("decode", "-", "--format", "jsonl", given=pack(PLAIN))
    assert (rows, text.replace("standard input", str(SESSION))) == wanted


def test_every_command_takes_a_pipe(tmp_path):
    packed = gzip.compress(PLAIN)
    assert "0 different, 0 in one only" in told("compare", SESSION, "-", given=packed)[0]
    wanted = told("verify", SESSION, "--format", "json")[0]
    assert told("verify", "-", "--format", "json", given=packed)[0] == wanted.replace(
        json.dumps(str(SESSION)), '"standard input"'
    )
    wanted = told("diff", "snapshot/v1", "snapshot/v2", "--capture", SESSION, code=1)[0]
    found = told("diff", "snapshot/v1", "snapshot/v2", "--capture", "-", given=packed, code=1)[0]
    assert found == wanted.replace(str(SESSION), "standard input")


def test_a_real_pipe(tmp_path):
    project = copy_project(tmp_path / "project")
    text = done(run("golden", "add", "snapshot/v2", "--packet", 7, "-", cwd=project, given=zstd_of(PLAIN)))
    assert "standard-input-packet-7 added: valid" in text


def rows_of(text):
    return [
        (row["packet"], row["version"], row["record"]["tick"]) for row in map(json.loads, text.splitlines())
    ]


def test_fragments_come_with_the_packet_that_completes_them_and_lone_ones_at_the_end():
    rows, text = told("decode", "-", "--format", "jsonl", given=WRAPPED)
    assert rows_of(rows) == [(3, 1, 7)]
    assert ": fragment-missing: 1 fragment of 16 bytes came, what follows byte 15 did not" in text
    assert "\n       1  fragments, besides the one that completes or ends its packet\n" in text
    assert "\n       1  foreign: datagrams of another protocol\n" in text


def test_what_damage_costs_is_told():
    _, text = told("decode", "-", given=WRAPPED[:-20])
    assert text.endswith(f"\n{16 + len(TUNNEL) - 20:>8}  bytes of damaged files lost\n")


def test_what_is_in_a_tunnel_on_request():
    rows, _ = told("decode", "-", "--format", "jsonl", "--tunnels", given=WRAPPED)
    assert rows_of(rows) == [(3, 1, 7), (4, 2, 8)]


def test_a_late_fault_is_expected_again(tmp_path):
    capture = write(tmp_path / "wrapped.pcap", WRAPPED)
    expectation = tmp_path / "expected.jsonl"
    told("verify", capture, "--write", expectation, "--tunnels")
    lines = [json.loads(line) for line in expectation.read_text().splitlines()]
    assert lines[0]["tunnels"] is True
    assert [(line["packet"], line.get("fault")) for line in lines[1:]] == [
        (3, None), (4, None), (1, "fragment-missing")
    ]  # fmt: skip
    told("verify", capture, "--expect", expectation, "--tunnels")
    with pytest.raises(AssertionError, match="another --tunnels"):
        told("verify", capture, "--expect", expectation)


def test_inspect_says_where_compressed_captures_are_read():
    _, text = told("inspect", "-", given=gzip.compress(b"x"), code=2)
    assert "is gzip: if there is a capture in it, read it with wirelock decode" in text
