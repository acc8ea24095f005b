"""The cache of compiled code: what is told, what is found again, and that nothing in it can do harm."""

from __future__ import annotations

import errno
import logging
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from construct import Byte, GreedyRange, Int16ub, Struct

from tests.schema.record_maker import make
from wirelock.codec.columnar import ColumnarEngine
from wirelock.codec.compiled import cache_folder
from wirelock.schema.record import wire_of


def test_the_first_call_says_what_it_does_and_the_next_finds_it(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make("Fresh", Struct("fresh" / Int16ub), {"fresh": int})
    monkeypatch.setenv("WIRELOCK_CACHE", str(tmp_path))
    with caplog.at_level(logging.INFO, "wirelock.columnar"):
        assert record.parse_many(b"\0\1")["fresh"].tolist() == [1]
    assert f"compiling columns of Fresh into {tmp_path}" in caplog.text
    made = {path.suffix for path in tmp_path.rglob("*") if path.is_file()}
    assert {".py", ".nbi", ".nbc"} <= made
    for name in [name for name in sys.modules if name.startswith("wirelock_columns_")]:
        monkeypatch.delitem(sys.modules, name)
    caplog.clear()
    with caplog.at_level(logging.INFO, "wirelock.columnar"):
        wire = wire_of(record)
        again = ColumnarEngine(wire.layout, wire.names)
        assert again.packed(b"\0\1")[0].arrays[0].tolist() == [1]
    assert not caplog.text
    assert sum(sys.modules[again._code._name].flat_packed.stats.cache_hits.values()) == 1


def test_a_folder_that_cannot_be_written_costs_only_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("WIRELOCK_CACHE", str(tmp_path / "file" / "cache"))
    record = make("Homeless", Struct("homeless" / Byte), {"homeless": int})
    assert record.parse_many(b"\5")["homeless"].tolist() == [5]


def broken_index(folder: Path, _: pytest.MonkeyPatch) -> None:
    for file in folder.rglob("*.nbi"):
        file.write_bytes(b"")


def cut_code(folder: Path, _: pytest.MonkeyPatch) -> None:
    for file in folder.rglob("*.nbc"):
        file.write_bytes(file.read_bytes()[:100])


def other_source(folder: Path, _: pytest.MonkeyPatch) -> None:
    for file in folder.glob("*.py"):
        file.write_bytes(b"\xff")


def full_disk(folder: Path, patch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    shutil.rmtree(folder)
    patch.setattr("numba.core.caching.IndexDataCacheFile.save", refuse)


def no_place(folder: Path, patch: pytest.MonkeyPatch) -> None:
    from numba.core.caching import CompileResultCacheImpl

    patch.setattr(CompileResultCacheImpl, "_locator_classes", [])


@pytest.mark.parametrize("damage", [broken_index, cut_code, other_source, full_disk, no_place])
def test_what_is_wrong_with_the_cache_costs_only_the_cache(
    damage: Callable[[Path, pytest.MonkeyPatch], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make(
        "Kept", Struct("kept" / Int16ub, "xs" / GreedyRange(Byte)), {"kept": int, "xs": tuple[int, ...]}
    )
    wire = wire_of(record)
    monkeypatch.setenv("WIRELOCK_CACHE", str(tmp_path))
    damages: list[Callable[[Path, pytest.MonkeyPatch], None]] = [lambda *_: None, damage, lambda *_: None]
    for step in damages:
        step(tmp_path, monkeypatch)
        for name in [name for name in sys.modules if name.startswith("wirelock_columns_")]:
            monkeypatch.delitem(sys.modules, name)
        engine = ColumnarEngine(wire.layout, wire.names)
        found, ends = engine.packets(b"\0\1\2\3", np.array([0, 3]), np.array([3, 4]))
        assert ends.tolist() == [3, -1]
        assert found.arrays[0].tolist() == [1]


def test_the_cache_is_where_the_platform_has_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WIRELOCK_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache_folder() == Path("/somewhere/wirelock")
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", "/local")
    assert cache_folder() == Path("/local/wirelock")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cache_folder() == Path.home() / "Library/Caches/wirelock"
