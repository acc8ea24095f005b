"""Golden files: bytes and records that every client must agree on, one JSON file a version.

The format is docs/golden-vectors.md; fixtures/golden.schema.json says it as JSON Schema. Reading is
strict: what is not of the format is a GoldenError, one line with the file and the case. Writing is
deterministic and all or nothing: the old file stays whole until the new one is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from wirelock.errors import GoldenError
from wirelock.golden.case import FORMAT, PROMISES, SOURCES, Case, GoldenFile, Pose, Refusal, Vector
from wirelock.golden.reader import read_text
from wirelock.schema.registry import Registry
from wirelock.whole import replacing

__all__ = [
    "FORMAT", "PROMISES", "SOURCES", "Case", "GoldenFile", "Pose", "Refusal", "Vector", "add", "case_hash",
    "flag_text", "golden_hashes", "golden_path", "read", "read_text", "read_version", "text_of",
    "vector_text", "write",
]  # fmt: skip

_WIDTH: Final = 100
"""Records stay on one line up to here."""


def golden_path(fixtures: Path, protocol: str, version: int) -> Path:
    """Return where the golden file of one version lies."""
    return fixtures / protocol / f"v{version}.json"


# -- reading


def read(path: Path, name: str | None = None) -> GoldenFile:
    """Read a golden file. Raises GoldenError, which calls the file `name`."""
    name = str(path) if name is None else name
    try:
        octets = path.read_bytes()
    except OSError as problem:
        raise GoldenError(f"{name}: cannot be read: {problem.strerror}") from None
    try:
        text = octets.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise GoldenError(f"{name}: is not UTF-8: {problem.reason} at byte {problem.start}") from None
    return read_text(text, name)


def read_version(fixtures: Path, protocol: str, version: int) -> GoldenFile | None:
    """Read the golden file of one version; None where there is none. Raises GoldenError."""
    path = golden_path(fixtures, protocol, version)
    if not path.exists():
        return None
    file = read(path)
    if (file.protocol, file.version) != (protocol, version):
        raise GoldenError(f"{path}: holds {file.protocol} v{file.version}, not {protocol} v{version}")
    return file


# -- writing


def text_of(file: GoldenFile) -> str:
    """Return the one text of a golden file: keys in the format's order, a line for each key of a case."""
    head: dict[str, Any] = {} if file.schema is None else {"$schema": file.schema}
    head |= {"format": FORMAT, "protocol": file.protocol, "version": file.version, "digest": file.digest}
    lines = [f"  {json.dumps(key)}: {_dump(value)}," for key, value in head.items()]
    flags = [flag_text(name, told) for name, told in file.flags.items()]
    lines += ['  "flags": ' + _wrapped("{", flags, "}") + ","]
    parts = [f'  "cases": {_list_of(file.cases)}']
    if file.poses:
        parts.append(f'  "poses": {_list_of(file.poses)}')
    return "\n".join(["{", *lines, ",\n".join(parts), "}", ""])


def _list_of(vectors: Iterable[Vector]) -> str:
    return _wrapped("[", [vector_text(vector) for vector in vectors], "]")


def vector_text(vector: Vector) -> str:
    """Return the text of one vector as it stands in a file, a line for each key."""
    pairs = _vector_to_json(vector).items()
    lines = [f"      {_dump(key)}: {_fitted(value, 6, len(key) + 4)}" for key, value in pairs]
    return "    {\n" + ",\n".join(lines) + "\n    }"


def flag_text(name: str, told: str) -> str:
    """Return the line of one flag with its explanation."""
    return f"    {_dump(name)}: {_dump(told)}"


def _wrapped(opening: str, items: list[str], closing: str) -> str:
    return f"{opening}\n" + ",\n".join(items) + f"\n  {closing}" if items else opening + closing


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _fitted(value: Any, indent: int, used: int) -> str:
    """Return JSON on one line where it fits behind `used` characters, else one line an item."""
    line = _dump(value)
    if indent + used + len(line) <= _WIDTH or not value or not isinstance(value, dict | list):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        keys = {f"{_dump(key)}: ": item for key, item in value.items()}
        items = [key + _fitted(item, indent + 2, len(key)) for key, item in keys.items()]
        opening, closing = "{", "}"
    else:
        items = [_fitted(item, indent + 2, 0) for item in value]
        opening, closing = "[", "]"
    return f"{opening}\n" + ",\n".join(inner + item for item in items) + f"\n{' ' * indent}{closing}"


def _vector_to_json(vector: Vector) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": vector.id, "comment": vector.comment, "source": vector.source, "flags": list(vector.flags)
    }  # fmt: skip
    if isinstance(vector, Case):
        octets, error = vector.data.hex(), vector.error
        if error is None:
            promises = list(vector.promises)
            return found | {"promises": promises, "bytes": octets, "result": "valid", "record": vector.record}
        refusal = {"code": error.code, "path": error.path, "byte": error.byte}
        return found | {"bytes": octets, "result": "invalid", "error": refusal}
    sides = {
        "quaternion": None if vector.quaternion is None else list(vector.quaternion),
        "bytes": None if vector.data is None else vector.data.hex(),
    }
    given, wanted = ("quaternion", "bytes") if vector.direction == "encode" else ("bytes", "quaternion")
    found |= {"direction": vector.direction, given: sides[given]}
    if vector.code is None:
        return found | {"result": "valid", wanted: sides[wanted]}
    return found | {"result": "invalid", "error": {"code": vector.code}}


def write(path: Path, file: GoldenFile) -> None:
    """Write a golden file under its name only when it is whole; the old one stays if anything fails.

    Raises GoldenError for what could not be read back as the same and while another writes the file,
    OSError where the disk refuses.
    """
    text = text_of(file)
    if text_of(read_text(text, str(path))) != text:
        raise GoldenError(f"{path}: what would be written does not read back as the same")
    with replacing(path, GoldenError, make_folder=True) as stream:
        stream.write(text)


def add(file: GoldenFile, *vectors: Vector) -> GoldenFile:
    """Return the file with vectors behind those that it has; none of these changes.

    Raises GoldenError for an id that the file has, for a flag that it does not explain, and for anything
    else that could not be read back.
    """
    cases = tuple(vector for vector in vectors if isinstance(vector, Case))
    poses = tuple(vector for vector in vectors if isinstance(vector, Pose))
    grown = replace(file, cases=file.cases + cases, poses=file.poses + poses)
    return read_text(text_of(grown), f"{file.protocol} v{file.version}")


# -- hashes, for the lock


def case_hash(vector: Vector) -> str:
    """Return `sha256:` and the digest of all that a client relies on; comment, source and flags are free."""
    covered = {
        key: value
        for key, value in _vector_to_json(vector).items()
        if key not in ("comment", "source", "flags")
    }
    text = json.dumps(covered, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def golden_hashes(fixtures: Path, registry: Registry) -> dict[str, dict[int, dict[str, str]]]:
    """Return protocol -> version -> id -> hash of a registry's vectors, empty for versions without a file.

    Raises GoldenError.
    """
    found: dict[str, dict[int, dict[str, str]]] = {}
    for protocol in registry:
        found[protocol.name] = {}
        for version in protocol.versions:
            file = read_version(fixtures, protocol.name, version)
            vectors = () if file is None else file.vectors
            found[protocol.name][version] = {vector.id: case_hash(vector) for vector in vectors}
    return found
