"""Fuzz the engines with atheris: random layouts, and bytes that all engines have to take alike.

    pip install -e '.[test,fuzz]'
    python fuzz/engines.py WORK_DIR -max_total_time=600 -max_len=300

The first byte of an input says which layout the rest is a packet of. WORK_DIR begins with packets that are
records; what reaches new code is added to it. An input on which engines differ is left in crash-*: mend it,
and make it a test of the layout that is printed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType
from typing import Any

import atheris
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

with atheris.instrument_imports(include=["wirelock.codec"]):
    from tests.strategies import layouts, lowered, name_layout, samples
    from tests.test_columnar import agree
    from tests.test_engines import outcome
    from tests.test_reference import same
    from wirelock.codec.check import check
    from wirelock.codec.columnar import ColumnarEngine
    from wirelock.codec.generated import GeneratedEngine
    from wirelock.codec.reference import ReferenceEngine
    from wirelock.errors import Fault, SchemaError
    from wirelock.layout.walk import walk

LAYOUTS = 100


class Engines:
    """The engines of one layout; the columnar one, uncompiled, where it can do it."""

    def __init__(self, source: Any, layout: Any, names: dict[str, Any]) -> None:
        self.layout, self.names = layout, names
        self.generated = GeneratedEngine(layout, names)
        watch(self.generated.parse_from.__globals__)
        self.reference = ReferenceEngine(source, layout, names)
        try:
            self.columnar = ColumnarEngine(layout, names, compiled=False)
            watch(vars(self.columnar._code))
        except SchemaError:
            self.columnar = None

    def check(self, packet: bytes) -> None:
        """Raise where the engines differ on a packet, or a record gives other bytes."""
        ours, theirs = outcome(self.generated.parse, packet), outcome(self.reference.parse, packet)
        if isinstance(theirs, Fault):
            assert ours == theirs
        else:
            assert same(check(self.layout, ours, self.names), check(self.layout, theirs, self.names))
            assert self.generated.build(ours) == self.reference.build(theirs) == packet
        if self.columnar is not None:
            agree(self.columnar, self.generated, [packet])


def watch(namespace: dict[str, Any]) -> None:
    """Let the fuzzer see which lines of generated functions run."""
    for value in list(namespace.values()):
        if isinstance(value, FunctionType) and value.__code__.co_filename.startswith("<"):
            atheris.instrument_func(value)  # in its place


def drawn() -> tuple[list[Engines], list[bytes]]:
    """Return engines of random layouts, the same ones in every run, and an input or two of each."""
    found: list[Engines] = []
    seeds: list[bytes] = []

    @settings(
        max_examples=LAYOUTS, deadline=None, database=None, derandomize=True, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def collect(data: st.DataObject) -> None:
        source = data.draw(layouts())
        layout, names = name_layout(data.draw(lowered(walk(source))))
        packets = [data.draw(samples(layout))[0] for _ in range(2)]
        seeds.extend(bytes([len(found)]) + packet for packet in packets)
        found.append(Engines(source, layout, names))

    collect()
    return found, seeds


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(f"usage: {sys.argv[0]} WORK_DIR [options of libFuzzer]")
    engines, seeds = drawn()

    def run(data: bytes) -> None:
        """Check one input."""
        if not data:
            return
        chosen = engines[data[0] % len(engines)]
        try:
            chosen.check(data[1:])
        except Exception:
            print(chosen.layout)
            raise

    work = Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (work / f"seed-{number:03}").write_bytes(seed)
    atheris.Setup(sys.argv, run)
    atheris.Fuzz()
