"""A project of its own, outside of this one, and pytest run in it as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PROTOCOLS = '''
"""Two small protocols: one without a tag, one with."""

from enum import IntEnum
from typing import Annotated

from annotated_types import Le
from construct import Array, Bytes, Const, Enum, Float32l, Int8ul, Int16ub, Struct, this

from wirelock import Protocol, Record, Registry, derived


class Colour(IntEnum):
    RED = 1
    BLUE = 2


class LampV1(Record, layout=Struct("colour" / Enum(Int8ul, Colour), "level" / Int16ub)):
    """Three bytes."""

    colour: Colour
    level: Annotated[int, Le(1000)]


class ListV1(
    Record,
    layout=Struct(
        "magic" / Const(b"L"), "version" / Const(1, Int8ul), "n" / Int8ul, "xs" / Array(this.n, Int16ub)
    ),
):
    """A list of numbers."""

    magic: bytes = derived()
    version: int = derived()
    n: int = derived()
    xs: tuple[int, ...]


class ListV2(
    Record,
    layout=Struct(
        "magic" / Const(b"L"), "version" / Const(2, Int8ul), "x" / Float32l, "name" / Bytes(2)
    ),
):
    """A float and two bytes."""

    magic: bytes = derived()
    version: int = derived()
    x: float
    name: bytes


lamp = Protocol("lamp", {1: LampV1})
lists = Protocol("lists", {1: ListV1, 2: ListV2}, tag=("magic", "version"))
PROTOCOLS = Registry(lamp, lists)
'''

ABOUT = {"comment": "A case.", "source": "hand", "flags": []}
BOTH = ["decode-old", "encode-exact"]


def valid(name: str, octets: str, record: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        **ABOUT,
        "promises": BOTH,
        "bytes": octets,
        "result": "valid",
        "record": record,
    } | more


def invalid(name: str, octets: str, code: str, path: str, byte: int | None, **more: Any) -> dict[str, Any]:
    error = {"code": code, "path": path, "byte": byte}
    return {"id": name, **ABOUT, "bytes": octets, "result": "invalid", "error": error} | more


LAMP = {
    "format": "wirelock-golden/1",
    "protocol": "lamp",
    "version": 1,
    "digest": "",
    "flags": {"order": "The level is little-endian."},
    "cases": [
        valid("red", "010203", {"colour": 1, "level": 515}, flags=["order"]),
        invalid("cut", "0102", "truncated", "level", 1),
        invalid("too-bright", "0203e9", "out-of-range", "level", 1),
        invalid("green", "030000", "unknown-member", "colour", 0),
    ],
}
LIST1 = LAMP | {
    "protocol": "lists",
    "flags": {},
    "cases": [
        valid("two", "4c010200010002", {"magic": "4c", "version": 1, "n": 2, "xs": [1, 2]}),
        invalid("another", "4d0100", "foreign", "magic", 0),
        invalid("later", "4c0300", "unknown-version", "version", 1),
        invalid("short", "4c01020001", "truncated", "xs[1]", 5),
    ],
}
TAG2 = {"magic": "4c", "version": 2}
LIST2 = LAMP | {
    "protocol": "lists",
    "version": 2,
    "flags": {},
    "cases": [
        valid("nan", "4c020100c07f6162", TAG2 | {"x": {"bits": "7fc00001"}, "name": "6162"}),
        valid("minus-zero", "4c0200000080ffff", TAG2 | {"x": -0.0, "name": "ffff"}),
    ],
}


WITHOUT = [f"-pno:{name}" for name in ("cacheprovider", "hypothesispytest", "benchmark")]  # slow to start


class Outcome:
    """What one run of pytest said."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text
        self.last = text.strip().splitlines()[-1] if text.strip() else ""

    def failed(self) -> set[str]:
        """Return the ids of the tests that failed, by the summary."""
        lines = self.text.splitlines()
        return {line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))}

    def report(self, title: str) -> list[str]:
        """Return the lines below the heading of one failure."""
        lines = self.text.splitlines()
        start = next(i for i, line in enumerate(lines) if line.startswith("__") and line.strip("_ ") == title)
        rest = lines[start + 1 :]
        stop = next((i for i, line in enumerate(rest) if line.startswith(("___", "==="))), len(rest))
        return rest[:stop]


class Project:
    """A folder with protocols, golden files and pytest."""

    def __init__(self, root: Path, site: Path) -> None:
        self.root = root
        self.site = site

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
        return path

    def golden(self, name: str, found: dict[str, Any]) -> Path:
        return self.file(f"fixtures/{name}.json", json.dumps(found, indent=1))

    def pytest(self, *arguments: str, folder: str = ".") -> Outcome:
        path = os.pathsep.join(map(str, (self.site, ROOT / "src")))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-m", "pytest", *WITHOUT, *arguments],
            cwd=self.root / folder,
            env=environment | {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=120,
        )
        return Outcome(done.returncode, done.stdout)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that says of this package what its wheel says: the plugin is found by its entry point."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    folder = tmp_path_factory.mktemp("site")
    info = folder / f"wirelock-{settings['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: wirelock\nVersion: {settings['version']}\n")
    (entry,) = settings["entry-points"]["pytest11"].items()
    (info / "entry_points.txt").write_text(f"[pytest11]\n{entry[0]} = {entry[1]}\n")
    return folder


@pytest.fixture(scope="session")
def digests(small: Any) -> dict[str, str]:
    """The digests of the small protocols."""
    return {f"{p.name}/v{v}": p.digest(v) for p in small for v in p.versions}


def small_protocols(source: str) -> Any:
    """Return the Registry that a module's source makes."""
    module = types.ModuleType("small_protocols")
    sys.modules[module.__name__] = module
    try:
        exec(compile(source, "small_protocols.py", "exec"), module.__dict__)
    finally:
        del sys.modules[module.__name__]
    return module.PROTOCOLS


@pytest.fixture
def bare(tmp_path: Path, site: Path) -> Project:
    """An empty project."""
    return Project(tmp_path, site)


@pytest.fixture
def goldens(digests: dict[str, str]) -> Callable[[], dict[str, dict[str, Any]]]:
    """Return a function that gives the small protocols' golden files anew."""

    def make() -> dict[str, dict[str, Any]]:
        files = {"lamp/v1": LAMP, "lists/v1": LIST1, "lists/v2": LIST2}
        return {
            name: json.loads(json.dumps(file | {"digest": digests[name]})) for name, file in files.items()
        }

    return make


@pytest.fixture
def project(bare: Project, goldens: Callable[[], dict[str, dict[str, Any]]]) -> Project:
    """A project with the small protocols and their golden files."""
    bare.file("pyproject.toml", '[tool.wirelock]\nprotocols = "wire:PROTOCOLS"\n')
    bare.file("wire.py", PROTOCOLS)
    for name, file in goldens().items():
        bare.golden(name, file)
    return bare


@pytest.fixture(scope="session")
def small() -> Any:
    """The small protocols' Registry, in this process."""
    return small_protocols(PROTOCOLS)
