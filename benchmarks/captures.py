"""Capture files to columns and to Parquet, beside tshark, dpkt and scapy: packets a second, and memory.

Every row is a process of its own and reads the same capture, which is made here: snapshots of 16 entities in
UDP over Ethernet. All rows are compared before any is measured. Times are of the work alone, without the
start of Python and its imports; tshark's are of the whole process, and it does not decode. Figures are
medians of interleaved rounds; nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import sessions
from timing import conditions, table

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

PACKAGES = ("wirelock", "numba", "numpy", "pyarrow", "dpkt", "scapy")
PART = 100
"""Of scapy's packets, one in so many is read."""
CHUNK = 4096
ENTITY = struct.Struct("<H3fB3h")
HEADER = struct.Struct("<2sBIH")
NAMES = ("id", "x", "y", "z", "turn", "a", "b", "c")

Found = tuple[int, int, int]
"""Packets, entities, and the sum of one column: what all rows have to come to."""


# -- rows, each run in a process of its own


def ours(path: Path, workers: int) -> Found:
    """Read validated columns, a part at a time."""
    from protocol import PROTOCOLS
    from wirelock.capture.bulk import decode_columns

    packets = entities = total = 0
    for part in decode_columns(path, PROTOCOLS, workers=workers):
        for records in part.records:
            packets += len(records)
            kept = records.table["entities.rotation.a"]
            entities += len(kept)
            total += int(kept.sum())
    return packets, entities, total


def ours_to_parquet(path: Path, workers: int, target: Path) -> Found:
    """Write what `wirelock decode -o FILE.parquet` does."""
    from protocol import PROTOCOLS
    from wirelock.capture.arrow.tables import RowTables
    from wirelock.capture.bulk import decode_columns
    from wirelock.capture.outputs import Outputs

    how = {"many_files": False, "upgraded": False, "threads": workers > 1}
    with (
        Outputs() as files,
        RowTables(lambda shape: target, files.binary, "parquet", **how) as tables,
        closing(decode_columns(path, PROTOCOLS, workers=workers)) as parts,
    ):
        for part in parts:
            for records in part.records:
                tables.write_records(records, str(path))
    return 0, 0, 0


def payloads_of_dpkt(path: Path) -> Iterator[tuple[float, bytes]]:
    """Yield times and UDP payloads."""
    import dpkt

    with path.open("rb") as file:
        for seconds, data in dpkt.pcap.Reader(file):
            yield seconds, dpkt.ethernet.Ethernet(data).data.data.data


def payloads_of_scapy(path: Path) -> Iterator[tuple[float, bytes]]:
    """Yield times and UDP payloads, of a part of the packets."""
    from scapy.layers.inet import UDP
    from scapy.utils import PcapReader

    left = path.stat().st_size // (sessions.SIZE + 58) // PART
    with PcapReader(str(path)) as packets:
        for packet in packets:
            yield float(packet.time), bytes(packet[UDP].payload)
            left -= 1
            if not left:
                return


def by_hand(payloads: Iterator[tuple[float, bytes]]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Unpack snapshots with struct, a chunk at a time: (time, tick, count) a packet, and the entities."""
    heads: list[Any] = []
    entities: list[Any] = []
    for seconds, payload in payloads:
        magic, version, tick, count = HEADER.unpack_from(payload)
        if magic != b"WS" or version != 2 or len(payload) != 9 + ENTITY.size * count:
            raise ValueError("no snapshot")
        heads.append((seconds, tick, count))
        entities += ENTITY.iter_unpack(memoryview(payload)[9:])
        if len(heads) == CHUNK:
            yield heads, entities
            heads, entities = [], []
    yield heads, entities


def by_hand_to_columns(payloads: Iterator[tuple[float, bytes]]) -> Found:
    """Unpack, and turn the entities into columns."""
    packets = count = total = 0
    for heads, entities in by_hand(payloads):
        packets += len(heads)
        count += len(entities)
        columns = dict(zip(NAMES, zip(*entities, strict=True), strict=False))
        total += sum(columns.get("a", ()))
    return packets, count, total


def by_hand_to_parquet(payloads: Iterator[tuple[float, bytes]], target: Path) -> Found:
    """Unpack, and write a table with a list of entities, with pyarrow's defaults."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = (pa.uint16(), pa.float32(), pa.float32(), pa.float32(), pa.uint8(), *[pa.int16()] * 3)
    kind = pa.struct(list(zip(NAMES, kinds, strict=True)))
    schema = pa.schema([("time", pa.float64()), ("tick", pa.uint32()), ("entities", pa.list_(kind))])
    with pq.ParquetWriter(target, schema) as writer:
        for heads, entities in by_hand(payloads):
            offsets = [0]
            for _, _, count in heads:
                offsets.append(offsets[-1] + count)
            columns = zip(*entities, strict=True) if entities else [[]] * len(kinds)
            arrays = [pa.array(column, to) for column, to in zip(columns, kinds, strict=True)]
            listed = pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays(arrays, fields=list(kind)))
            times, ticks = [head[0] for head in heads], [head[1] for head in heads]
            writer.write_table(
                pa.table([pa.array(times), pa.array(ticks, pa.uint32()), listed], schema=schema)
            )
    return 0, 0, 0


def check_parquet(target: Path) -> Found:
    """Return what a file holds."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    rows = pq.read_table(target)
    inside = rows["record"].combine_chunks().field("entities") if "record" in rows.column_names else None
    entities = pc.list_flatten(rows["entities"].combine_chunks() if inside is None else inside)
    kept = entities.field("a") if inside is None else entities.field("rotation").field("a")
    return rows.num_rows, len(entities), pc.sum(kept).as_py()


TSHARK = "tshark, UDP payload only"
ROWS: dict[str, tuple[str, Callable[[Path, Path], Found]]] = {
    "wirelock": ("columns", lambda path, target: ours(path, 2)),
    "wirelock, one worker": ("columns", lambda path, target: ours(path, 1)),
    "dpkt + struct": ("columns", lambda path, target: by_hand_to_columns(payloads_of_dpkt(path))),
    "scapy + struct": ("columns", lambda path, target: by_hand_to_columns(payloads_of_scapy(path))),
    "wirelock, Parquet": ("Parquet", lambda path, target: ours_to_parquet(path, 2, target)),
    "wirelock, Parquet, one worker": ("Parquet", lambda path, target: ours_to_parquet(path, 1, target)),
    "dpkt + struct + pyarrow": (
        "Parquet",
        lambda path, target: by_hand_to_parquet(payloads_of_dpkt(path), target),
    ),
    "scapy + struct + pyarrow": (
        "Parquet",
        lambda path, target: by_hand_to_parquet(payloads_of_scapy(path), target),
    ),
}
"""What each comes to, and what runs."""
NEEDS = {"dpkt": "dpkt", "scapy": "scapy"}


def child(name: str, path: Path, small: Path, target: Path) -> None:
    """Run a row on a small capture, so that all is loaded and compiled, then on the one that is measured."""
    kind, run = ROWS[name]
    run(small, target)
    before = target.stat().st_size if kind == "Parquet" else 0
    started, busy = time.perf_counter(), time.process_time()
    found = run(path, target)
    spent, busy = time.perf_counter() - started, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if kind == "Parquet":
        assert target.stat().st_size != before
        found = check_parquet(target)
    print(json.dumps({"seconds": spent, "busy": busy, "peak": peak, "found": found}))


# -- the parent


def measured(name: str, path: Path, folder: Path) -> dict[str, Any]:
    """Run a row in a process of its own."""
    if name == TSHARK:
        started = time.perf_counter()
        call = ["tshark", "-r", path, "-T", "fields", "-e", "udp.payload"]
        with subprocess.Popen(call, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError("tshark failed")
        spent, busy = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
        return {"seconds": spent, "busy": busy, "peak": usage.ru_maxrss, "found": None}
    call = [
        sys.executable,
        __file__,
        "--row",
        name,
        str(path),
        str(folder / "small.pcap"),
        str(folder / "out.parquet"),
    ]
    run = subprocess.run(call, capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(f"{name}: {run.stderr}")
    return json.loads(run.stdout)  # type: ignore[no-any-return]


def rows_here() -> list[str]:
    """Return the rows that can be run: those whose libraries are installed."""
    names = [
        name
        for name in ROWS
        if all(importlib.util.find_spec(module) for word, module in NEEDS.items() if word in name)
    ]
    return [*names, TSHARK] if shutil.which("tshark") else names


def packets_of(name: str, packets: int) -> int:
    """Return how many packets a row reads."""
    return packets // PART if name.startswith("scapy") else packets


def compare(names: list[str], path: Path, folder: Path, packets: int) -> None:
    """Run every row once, and raise where one comes to something else than others on the same packets."""
    wanted: dict[int, Any] = {}
    for name in names:
        found = measured(name, path, folder)["found"]
        count = packets_of(name, packets)
        if found is not None and (found != wanted.setdefault(count, found) or found[0] != count):
            raise RuntimeError(f"{name} comes to {found}, others to {wanted[count]}")


def microseconds(seconds: float) -> str:
    """Return a time with three digits."""
    return f"{seconds * 1e6:.3g}"


def report(
    names: list[str], samples: dict[str, list[Any]], packets: int, kind: str, *, markdown: bool
) -> str:
    """Return a table with a line a row: microseconds a packet, those of processors, peak memory.

    Behind each figure is how many times that of wirelock it is.
    """
    chosen = [name for name in names if name == TSHARK or ROWS[name][0] == kind]
    spent, busy = (
        {
            name: statistics.median(it[what] for it in samples[name]) / packets_of(name, packets)
            for name in chosen
        }
        for what in ("seconds", "busy")
    )
    lines = [
        [
            name,
            microseconds(spent[name]),
            f"{spent[name] / spent[chosen[0]]:.3g}",
            microseconds(busy[name]),
            f"{busy[name] / busy[chosen[0]]:.3g}",
            f"{max(it['peak'] for it in samples[name]) >> 10}",
        ]
        for name in chosen
    ]
    return table(
        [f"capture -> {kind}", "µs a packet", "times", "µs of processors", "times", "MiB"],
        lines,
        markdown=markdown,
    )


def growth(folder: Path, packets: int, rounds: int, *, markdown: bool) -> str:
    """Return a table of wirelock's rows on a capture and on one of ten times its length."""
    large = folder / "large.pcap"
    sessions.write(large, 10 * packets)
    lines = []
    for name in (name for name in ROWS if name.startswith("wirelock")):
        cells = [name]
        for path, count in ((folder / "session.pcap", packets), (large, 10 * packets)):
            found = [measured(name, path, folder) for _ in range(rounds)]
            seconds = statistics.median(it["seconds"] for it in found)
            cells += [
                f"{seconds:.3g}",
                microseconds(seconds / count),
                f"{max(it['peak'] for it in found) >> 10}",
            ]
        lines.append(cells)
    head = [f"{packets} and {10 * packets} packets", *["s", "µs a packet", "MiB"] * 2]
    return table(head, lines, markdown=markdown)


def main() -> int:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description="Captures to columns and to Parquet beside other tools.")
    parser.add_argument("--quick", action="store_true", help="few packets, once: the figures mean little")
    parser.add_argument("--growth", action="store_true", help="also a capture of ten times the length")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--packets", type=int, default=200_000)
    parser.add_argument(
        "--markdown", action="store_true", help="print tables as docs/performance.md has them"
    )
    parser.add_argument("--row", nargs=4, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.row:
        name, *paths = arguments.row
        child(name, *map(Path, paths))
        return 0
    packets, rounds = (2_000, 1) if arguments.quick else (arguments.packets, arguments.rounds)
    names = rows_here()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        path = folder / "session.pcap"
        sessions.write(path, packets)
        sessions.write(folder / "small.pcap", 500)
        try:
            compare(names, path, folder, packets)
        except RuntimeError as problem:
            print(f"captures.py: {problem}", file=sys.stderr)
            return 1
        samples: dict[str, list[Any]] = {name: [] for name in names}
        for turn in range(rounds):
            for step in range(len(names)):
                name = names[(step + turn) % len(names)]
                samples[name].append(measured(name, path, folder))
        print(conditions(PACKAGES))
        size = path.stat().st_size
        print(f"{packets} packets of {sessions.ENTITIES} entities, {size} bytes; medians of {rounds} rounds")
        for kind in ("columns", "Parquet"):
            print(f"\n{report(names, samples, packets, kind, markdown=arguments.markdown)}")
        if arguments.growth:
            print(f"\n{growth(folder, packets, rounds, markdown=arguments.markdown)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
