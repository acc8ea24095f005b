"""Fuzz the capture readers with atheris: the laws of tests/capture/laws.py, and of test_blocks.py, hold.

    pip install -e '.[test,fuzz]'
    python fuzz/captures.py WORK_DIR -max_total_time=600 -max_len=4096

WORK_DIR begins with the files that the tests make, of every container, link and tunnel, and with the corpus
in tests/capture/corpus.hex; what reaches new code is added to it. An input that breaks a law is left in
crash-*: mend it, and add it to the corpus, a line of hex.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "capture"))

with atheris.instrument_imports(include=["wirelock.capture"]):
    from capture_writer import pcap, zstd_of
    from carriers import OVER_V4, OVER_V6, TUNNELS
    from laws import CORPUS, read
    from test_blocks import check
    from test_capture_damage import FILES
    from test_capture_tshark import FILES as MORE


def write_seeds(folder: Path) -> None:
    """Write what there is to begin with."""
    folder.mkdir(parents=True, exist_ok=True)
    carriers = [*OVER_V4.values(), *OVER_V6.values(), *((101, data) for data in TUNNELS.values())]
    seeds = [*CORPUS, *FILES.values(), *(data for data, _ in MORE.values())]
    seeds += [pcap([(1, 1, data)], link=link) for link, data in carriers]
    whole = FILES["pcapng both"]
    seeds += [gzip.compress(whole), gzip.compress(whole, 0), zstd_of(whole), zstd_of(whole, pieces=3)]
    for number, data in enumerate(seeds):
        (folder / f"seed-{number:03}").write_bytes(data)


def both(data: bytes) -> None:
    """Raise for bytes that break a law."""
    read(data)
    check(data, (300,))


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} WORK_DIR [options of libFuzzer]")
    write_seeds(Path(sys.argv[1]))
    atheris.Setup(sys.argv, both)
    atheris.Fuzz()
