"""Many records at once: packed rotations and snapshots to validated columns, beside C and what else there is.

All rows read the same bytes and are compared before any is measured. The C loop is compiled here, with `cc
-O3`, and does what the columns of wirelock do: decode, check, store. Figures are medians of interleaved
rounds; nothing here passes or fails by time.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import construct
import numpy as np
from cases import ENTITIES, snapshot
from timing import conditions, table

from protocol.rotation import RotationV1
from protocol.snapshot import snapshot as protocol
from wirelock.quaternion import REACHABLE_LIMIT

PACKAGES = ("wirelock", "numba", "numpy", "construct")
OURS = "wirelock, parse_many"

C = """
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline int64_t inner(int64_t n) { n = n < 0 ? -n : n; return n * (n - 1); }

long decode(const uint8_t *data, long rows, uint8_t *index, int16_t *a, int16_t *b, int16_t *c,
            uint8_t *good) {
    long bad = 0;
    for (long row = 0; row < rows; row++) {
        const uint8_t *at = data + 7 * row;
        int16_t x, y, z;
        memcpy(&x, at + 1, 2);
        memcpy(&y, at + 3, 2);
        memcpy(&z, at + 5, 2);
        int64_t p = inner(x), q = inner(y), r = inner(z), most = p > q ? p : q;
        most = r > most ? r : most;
        int ok = at[0] <= 3 && p + q + r + most <= LIMIT;
        index[row] = at[0];
        a[row] = x;
        b[row] = y;
        c[row] = z;
        good[row] = ok;
        bad += !ok;
    }
    return bad;
}
"""


class DifferError(Exception):
    """Two rows do not come to the same."""


def packed(rows: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """Return the bytes of so many rotations of version 1: turns spread evenly."""
    from wirelock.quaternion import encode_array

    packets = encode_array(np.random.default_rng(7).normal(size=(rows, 4)))
    out = np.empty((rows, 7), "u1")
    out[:, 0] = packets[:, 0]
    out[:, 1:] = np.ascontiguousarray(packets[:, 1:].astype("<i2")).view("u1")
    return out.reshape(-1)


def c_loop(folder: Path, data: Any, rows: int) -> Callable[[], Any] | None:
    """Return the loop in C; None where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        return None
    (folder / "loop.c").write_text(C.replace("LIMIT", f"{REACHABLE_LIMIT}LL"))
    library = folder / "loop.so"
    subprocess.run([compiler, "-O3", "-shared", "-fPIC", "-o", library, folder / "loop.c"], check=True)
    decode = ctypes.CDLL(str(library)).decode
    decode.restype = ctypes.c_long

    def run() -> Any:
        columns = [np.empty(rows, kind) for kind in ("u1", "i2", "i2", "i2", "?")]
        places = [ctypes.c_void_p(array.ctypes.data) for array in (data, *columns)]
        if decode(places[0], ctypes.c_long(rows), *places[1:]):
            raise DifferError("C refuses a rotation")
        return columns[:4]

    return run


def by_numpy(data: Any) -> Any:
    """Decode and check with numpy, as one would by hand."""
    dtype = np.dtype([("index", "u1"), ("a", "<i2"), ("b", "<i2"), ("c", "<i2")])
    found = data.view(dtype)
    columns = [np.ascontiguousarray(found[name]) for name in dtype.names or ()]
    inner = [
        magnitude * (magnitude - 1) for magnitude in (np.abs(column.astype("i8")) for column in columns[1:])
    ]
    total = inner[0] + inner[1] + inner[2] + np.maximum(np.maximum(inner[0], inner[1]), inner[2])
    if ((columns[0] > 3) | (total > REACHABLE_LIMIT)).any():
        raise DifferError("numpy refuses a rotation")
    return columns


def by_struct(data: bytes) -> Any:
    """Unpack into lists; nothing is checked."""
    return list(zip(*struct.iter_unpack("<Bhhh", data), strict=True))


def rotations(rows: int, folder: Path) -> dict[str, tuple[Callable[[], Any], int, str]]:
    """Return (what to run, how many records it reads, what it checks) by name."""
    data = packed(rows)
    octets = data.tobytes()
    few = octets[: 7 * 20_000]
    compiled = construct.GreedyRange(RotationV1.layout).compile()
    target = np.empty_like(data)

    def ours() -> Any:
        found = RotationV1.parse_many(octets)
        if len(found) != rows:
            raise DifferError("wirelock refuses a rotation")
        return [found[name] for name in ("largest_index", "a", "b", "c")]

    def by_construct() -> Any:
        found = compiled.parse(few)
        return [[getattr(item, name) for item in found] for name in ("largest_index", "a", "b", "c")]

    def copy() -> None:
        np.copyto(target, data)

    made: dict[str, tuple[Callable[[], Any], int, str]] = {OURS: (ours, rows, "all")}
    loop = c_loop(folder, data, rows)
    if loop is not None:
        made["C, cc -O3"] = (loop, rows, "all")
    made["numpy by hand"] = (lambda: by_numpy(data), rows, "all")
    made["struct.iter_unpack"] = (lambda: by_struct(few), 20_000, "nothing")
    made["construct, compiled"] = (by_construct, 20_000, "nothing")
    made["copy of the bytes"] = (copy, rows, "")
    wanted = [np.asarray(column) for column in ours()]
    for name, (run, count, checks) in made.items():
        found = run()
        if checks and not all(np.array_equal(a, b[:count]) for a, b in zip(found, wanted, strict=True)):
            raise DifferError(f"{name} differs")
    return made


def snapshots(packets: int) -> dict[str, tuple[Callable[[], Any], int, str]]:
    """Return the rows for snapshots in packets: entities to columns, all of them checked."""
    case = snapshot()
    few = [case.data[at % len(case.data)] for at in range(packets)]
    octets, lengths = b"".join(few), np.array([len(packet) for packet in few])
    offsets = np.cumsum(lengths) - lengths

    def ours() -> Any:
        found = protocol.parse_packets(octets, offsets, lengths).tables[2]
        if len(found["entities.id"]) != packets * ENTITIES:
            raise DifferError("wirelock refuses a snapshot")
        return found

    def one_by_one() -> Any:
        return [case.record.parse(packet) for packet in few[:200]]

    if [record.model_dump() for record in list(ours())[:200]] != [
        record.model_dump() for record in one_by_one()
    ]:
        raise DifferError("columns of snapshots differ from records")
    return {
        "wirelock, parse_packets": (ours, packets * ENTITIES, "all"),
        "wirelock, parse one by one": (one_by_one, min(200, packets) * ENTITIES, "all"),
    }


def measure(made: dict[str, tuple[Callable[[], Any], int, str]], rounds: int) -> dict[str, float]:
    """Return the median nanoseconds for one of what each row reads."""
    samples: dict[str, list[float]] = {name: [] for name in made}
    names = list(made)
    gc.collect()
    gc.disable()
    for turn in range(rounds):
        for step in range(len(names)):
            run, count, _ = made[names[(step + turn) % len(names)]]
            started = time.perf_counter_ns()
            run()
            samples[names[(step + turn) % len(names)]].append((time.perf_counter_ns() - started) / count)
    gc.enable()
    return {name: statistics.median(found) for name, found in samples.items()}


def report(title: str, made: Any, found: dict[str, float], *, markdown: bool) -> str:
    """Return a table with a line a rival: nanoseconds, times the figure of wirelock, checks."""
    ours = next(iter(found.values()))
    lines = [[name, f"{spent:.3g}", f"{spent / ours:.3g}", made[name][2]] for name, spent in found.items()]
    return table([title, "ns", "times", "checks"], lines, markdown=markdown)


def main() -> int:
    """Compare, measure, print."""
    parser = argparse.ArgumentParser(description="Columns of wirelock beside a loop in C and others.")
    parser.add_argument("--quick", action="store_true", help="a few samples only: the figures mean little")
    parser.add_argument(
        "--markdown", action="store_true", help="print tables as docs/performance.md has them"
    )
    arguments = parser.parse_args()
    rows, packets, rounds = (20_000, 200, 3) if arguments.quick else (1_000_000, 20_000, 41)
    print(conditions(PACKAGES))
    print(f"{rows} rotations, nanoseconds each; {packets} snapshots, nanoseconds an entity")
    try:
        with tempfile.TemporaryDirectory() as folder:
            for title, made in (
                ("packed rotations -> columns", rotations(rows, Path(folder))),
                (f"snapshots of {ENTITIES} entities -> columns", snapshots(packets)),
            ):
                print(f"\n{report(title, made, measure(made, rounds), markdown=arguments.markdown)}")
    except DifferError as problem:
        print(f"columnar.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
