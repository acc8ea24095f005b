"""A new project: protocols, golden vectors, tests and settings, of the shape that the tools expect."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template
from typing import Any

from wirelock.errors import ProjectError
from wirelock.golden.run import make_case
from wirelock.golden.vectors import GoldenFile, golden_path, write
from wirelock.scaffold.templates import CASES, FILES
from wirelock.schema.registry import Protocol

__all__ = ["create"]


def create(folder: Path, name: str) -> list[Path]:
    """Write a project for one protocol into a folder, and return the files.

    Raises ProjectError for a name that a protocol cannot have, and where a file of it is there already;
    then nothing is written.
    """
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise ProjectError(f"{name!r} is no name of a protocol: use lower-case letters, digits and -")
    module = name.replace("-", "_")
    words = {
        "name": name,
        "module": module,
        "title": "".join(part.capitalize() for part in name.split("-")),
        "magic": (name.replace("-", "") * 2)[:2].upper(),
    }
    words["magic_hex"] = words["magic"].encode().hex(" ")
    words["foreign_hex"] = bytes(octet ^ 0x20 for octet in words["magic"].encode()).hex(" ")
    texts = {folder / _filled(path, words): _filled(text, words) for path, text in FILES.items()}
    golden = golden_path(folder / "fixtures", name, 1)
    taken = [path for path in (*texts, golden) if path.exists()]
    if taken:
        raise ProjectError(f"{taken[0]} is there already: choose another folder, or move it away")
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")
    write(golden, _goldens(_protocol(texts, folder, words), words))
    return [*texts, golden]


def _filled(text: str, words: dict[str, str]) -> str:
    return Template(text).substitute(words)


def _protocol(texts: dict[Path, str], folder: Path, words: dict[str, str]) -> Protocol:
    """Return the protocol that the files define, without importing them by name."""
    scope: dict[str, Any] = {"__name__": "wirelock_new_project"}
    source = texts[folder / f"protocol/{words['module']}/v1.py"]
    exec(compile(source.replace("from __future__ import annotations\n", ""), "v1.py", "exec"), scope)
    return Protocol(words["name"], {1: scope[f"{words['title']}V1"]}, tag=("magic", "version"))


def _goldens(protocol: Protocol, words: dict[str, str]) -> GoldenFile:
    cases = tuple(
        make_case(
            protocol,
            1,
            bytes.fromhex(_filled(octets, words)),
            id=name,
            comment=_filled(comment, words),
            source="hand",
        )
        for name, comment, octets in CASES
    )
    return GoldenFile(
        protocol=protocol.name, version=1, digest=protocol.digest(1), flags={}, cases=cases, poses=()
    )
