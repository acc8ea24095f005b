"""The sample session: recorded again from two real processes, it is the session in fixtures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from protocol import PROTOCOLS
from wirelock.capture.decode import FaultRow, Row, Selection, Summary, decode

ROOT = Path(__file__).parents[2]
SESSION = ROOT / "fixtures/captures/session.pcapng"


def decoded(path: Path) -> tuple[list[Row], list[FaultRow], Summary]:
    summary = Summary()
    items = list(decode(path, PROTOCOLS, Selection(), summary))
    rows = [item for item in items if isinstance(item, Row)]
    return rows, [item for item in items if isinstance(item, FaultRow)], summary


def told(path: Path) -> tuple[object, ...]:
    """Return what is the same each time that the session is recorded."""
    rows, faults, summary = decoded(path)
    records = Counter((row.parsed.label, row.record.build()) for row in rows)
    return (
        records,
        Counter((fault.record, fault.code, fault.path, fault.place, fault.message) for fault in faults),
        summary.packets,
        summary.datagrams,
        summary.foreign,
    )


def test_every_record_of_the_session_builds_to_its_payload() -> None:
    rows, _, _ = decoded(SESSION)
    assert len(rows) == 304
    assert {row.datagram.source for row in rows} == {"127.0.0.1", "::1"}
    for row in rows:
        assert row.record.build() == row.datagram.payload
        assert row.record.build(engine="reference") == row.datagram.payload


def test_recorded_again_it_is_the_same_session(tmp_path: Path) -> None:
    if shutil.which("dumpcap") is None:
        pytest.skip("dumpcap, of Wireshark, is not installed")
    trial = subprocess.run(
        ["dumpcap", "-i", "lo", "-a", "duration:1", "-w", str(tmp_path / "trial")], capture_output=True
    )
    if trial.returncode:
        pytest.skip("this user may not capture on the loopback interface")
    target = tmp_path / "again.pcapng"
    script = ROOT / "fixtures/captures/record_session.py"
    run = subprocess.run(
        [sys.executable, str(script), str(target)], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert told(target) == told(SESSION)
    _, faults, summary = decoded(target)
    assert json.loads(run.stdout) == {
        "records": dict(summary.records),
        "faults": dict(Counter(fault.code for fault in faults)),
    }
