"""A server in Python and an exported client in TypeScript agree over UDP on a version and on every byte.

Each sends the other whole and spoiled packets, and both come to the same verdict: code, path, byte and bit.
"""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from protocol import PROTOCOLS
from tests.export.languages import WAYS
from wirelock import DecodeError, Protocol
from wirelock.export.targets import export

SNAPSHOT = PROTOCOLS["snapshot"]
CLIENT = Path(__file__).with_name("contract_client.ts")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    files = export(PROTOCOLS, "typescript") | {"client.ts": CLIENT.read_text("utf-8")}
    return WAYS["node"].runner(files, tmp_path_factory.mktemp("client"))


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program beside the block, and end it with the block at the latest."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


def verdict(protocol: Protocol, data: bytes) -> Any:
    """What the server makes of a packet, as the client writes it."""
    try:
        record = protocol.parse(data)
    except DecodeError as error:
        return [error.code, error.path, error.byte, error.bit]
    return {"version": protocol.number_of(record), "bytes": record.build().hex()}


def golden_packets(version: int) -> Iterator[bytes]:
    """The packets of a version's golden file, good and bad ones, the longest good one last."""
    cases = json.loads(Path(f"fixtures/snapshot/v{version}.json").read_text("utf-8"))["cases"]
    cases.sort(key=lambda case: (case["result"] == "valid", len(case["bytes"])))
    return (bytes.fromhex(case["bytes"]) for case in cases)


@pytest.mark.parametrize("newest", [1, 2, 3])
def test_a_client_and_a_server_agree_over_a_socket(client: list[str], newest: int) -> None:
    server = SNAPSHOT.as_of(newest)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.bind(("127.0.0.1", 0))
        end.settimeout(30)
        with started([*client, str(end.getsockname()[1])]) as process:

            def receive() -> tuple[str, bytes]:
                data, peer = end.recvfrom(65535)
                head, _, rest = data.partition(b"\n")
                end.connect(peer)
                return head.decode(), rest

            hello, _ = receive()
            assert server.negotiate(hello).version == newest
            end.send(server.hello().to_json().encode())
            assert receive() == (f"speak {newest}", b"")

            told = set()
            for packet in golden_packets(newest):
                end.send(packet)
                answer = json.loads(receive()[0])
                # The client knows versions that this server does not; what they share, they see alike.
                assert answer == verdict(SNAPSHOT, packet)
                told.add(answer[0] if isinstance(answer, list) else "valid")
            assert {"valid", "truncated", "trailing-bytes", "rule:reachable"} <= told

            end.send(b"your turn")
            faults = 0
            while (found := receive())[0] != "done":
                assert json.loads(found[0]) == verdict(SNAPSHOT, found[1])
                faults += found[0].startswith("[")
                end.send(b"next")
            assert faults > 10
            assert process.wait(10) == 0
