"""Golden files: bytes and records that every client must agree on, one JSON file a version.

The format is docs/golden-vectors.md; fixtures/golden.schema.json says it as JSON Schema. Reading is
strict: what is not of the format is a GoldenError, one line with the file and the case. Writing is
deterministic and all or nothing: the old file stays whole until the new one is.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, NoReturn, TypeAlias

from wirelock.errors import GoldenError
from wirelock.schema.registry import Registry

__all__ = [
    "FORMAT", "PROMISES", "SOURCES", "Case", "GoldenFile", "Pose", "Refusal", "add", "case_hash",
    "golden_hashes", "golden_path", "read", "read_text", "read_version", "text_of", "write",
]  # fmt: skip

FORMAT: Final = "wirelock-golden/1"
SOURCES: Final = ("hand", "capture", "article", "generator")
"""Where a case comes from. Only `generator` cases came out of the code that they test."""
PROMISES: Final = ("decode-old", "encode-exact")
"""decode-old: these bytes still mean this record. encode-exact: this record still gives these bytes."""
DIRECTIONS: Final = ("encode", "decode")

_WORDS: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CODE: Final = re.compile(r"[a-z]+(-[a-z]+)*(:[a-z0-9]+(-[a-z0-9]+)*)?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEX: Final = re.compile(r"([0-9a-f]{2})*")
_FLOAT32: Final = re.compile(r"[0-9a-f]{8}")
_WIDTH: Final = 100


@dataclass(frozen=True, slots=True)
class Refusal:
    """How bytes are refused: the code, the path of the field and the byte that DecodeError has."""

    code: str
    path: str
    byte: int | None

    def __str__(self) -> str:
        place = "" if self.byte is None else f" (byte {self.byte})"
        return f"{self.code} at {self.path or 'the record'}{place}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Bytes, and the record that they are (as record.model_dump_json gives it) or how they are refused."""

    id: str
    comment: str
    source: str
    flags: tuple[str, ...] = ()
    promises: tuple[str, ...] = ()
    data: bytes
    record: dict[str, Any] | None = None
    error: Refusal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pose:
    """A quaternion as the bits of four binary32 numbers x, y, z, w, and the bytes of its record.

    `encode` goes from the quaternion to the bytes, `decode` back; `code` is the error's where it is refused
    and then nothing is on the other side.
    """

    id: str
    comment: str
    source: str
    flags: tuple[str, ...] = ()
    direction: str
    quaternion: tuple[str, ...] | None = None
    data: bytes | None = None
    code: str | None = None


Vector: TypeAlias = Case | Pose


@dataclass(frozen=True, slots=True, kw_only=True)
class GoldenFile:
    """All vectors of one version. `flags` maps each flag to the bug that it stands for."""

    protocol: str
    version: int
    digest: str
    flags: Mapping[str, str]
    cases: tuple[Case, ...]
    poses: tuple[Pose, ...] = ()
    schema: str | None = None

    @property
    def vectors(self) -> tuple[Vector, ...]:
        """Cases, then poses. Their ids are distinct."""
        return (*self.cases, *self.poses)


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


def read_text(text: str, name: str) -> GoldenFile:
    """Read the text of a golden file that errors call `name`. Raises GoldenError."""
    return _file(_parsed(text, name), name)


def _parsed(text: str, name: str) -> Any:
    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) < len(found):
            twice = next(key for i, (key, _) in enumerate(found) if key in dict(found[:i]))
            raise GoldenError(f"{name}: the key {twice!r} is there twice in one object")
        return made

    def number(word: str) -> float:
        value = float(word)
        if value in (float("inf"), float("-inf")):
            refuse(word)
        return value

    def refuse(word: str) -> NoReturn:
        raise GoldenError(f"{name}: {word} is no number of JSON's that every reader keeps")

    try:
        found = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse, parse_float=number)
        json.dumps(found, ensure_ascii=False).encode()
    except json.JSONDecodeError as problem:
        raise GoldenError(f"{name}: line {problem.lineno} column {problem.colno}: {problem.msg}") from None
    except UnicodeEncodeError:
        raise GoldenError(f"{name}: a text holds half a surrogate pair") from None
    except RecursionError:
        raise GoldenError(f"{name}: is nested too deep") from None
    except ValueError as problem:  # an integer of thousands of digits
        raise GoldenError(f"{name}: {problem}") from None
    return found


def _file(found: Any, name: str) -> GoldenFile:
    if isinstance(found, dict) and found.get("format", FORMAT) != FORMAT:
        raise GoldenError(f"{name}: the format {found['format']!r} is not {FORMAT}")
    keys = ("format", "protocol", "version", "digest", "flags", "cases")
    _check_keys(found, name, keys, ("$schema", "poses"))
    version = found["version"]
    if type(version) is not int or version < 0:
        raise GoldenError(f"{name}: version {version!r} is no whole number")
    flags = found["flags"]
    if not isinstance(flags, dict):
        raise GoldenError(f"{name}: flags is no object")
    for flag in flags:
        if not _WORDS.fullmatch(flag):
            raise GoldenError(f"{name}: the flag {flag!r} is not lower-case words with hyphens")
        _text(flags, flag, f"{name}: flag")
    if not isinstance(found["cases"], list) or not isinstance(found.get("poses", []), list):
        raise GoldenError(f"{name}: cases and poses are arrays")
    schema = _text(found, "$schema", name) if "$schema" in found else None
    file = GoldenFile(
        protocol=_text(found, "protocol", name),
        version=version,
        digest=_text(found, "digest", name, _DIGEST, "sha256: and 64 hex digits"),
        flags=flags,
        cases=tuple(_case(item, label) for item, label in _labelled(found["cases"], f"{name}: case")),
        poses=tuple(_pose(item, label) for item, label in _labelled(found.get("poses", []), f"{name}: pose")),
        schema=schema,
    )
    _check_ids_and_flags(file, name)
    return file


def _labelled(found: list[Any], word: str) -> Iterator[tuple[Any, str]]:
    """Yield each vector with what errors call it: by its id, or by its number where the id is none."""
    for number, item in enumerate(found, 1):
        identifier = item.get("id") if isinstance(item, dict) else None
        known = isinstance(identifier, str) and _WORDS.fullmatch(identifier)
        yield item, f"{word} {identifier}" if known else f"{word} number {number}"


def _check_ids_and_flags(file: GoldenFile, name: str) -> None:
    seen: set[str] = set()
    for vector in file.vectors:
        word = "case" if isinstance(vector, Case) else "pose"
        if vector.id in seen:
            raise GoldenError(f"{name}: {word} {vector.id}: the id is there twice")
        seen.add(vector.id)
        for flag in vector.flags:
            if flag not in file.flags:
                raise GoldenError(f"{name}: {word} {vector.id}: the flag {flag} is not explained in the file")


def _check_keys(found: Any, where: str, keys: Iterable[str], optional: Iterable[str] = ()) -> None:
    if not isinstance(found, dict):
        raise GoldenError(f"{where}: is no object")
    for key in keys:
        if key not in found:
            raise GoldenError(f"{where}: {key} is missing")
    for key in found:
        if key not in keys and key not in optional:
            raise GoldenError(f"{where}: the key {key!r} is not known here")


def _text(
    found: dict[str, Any], key: str, where: str, form: re.Pattern[str] | None = None, words: str = ""
) -> str:
    value = found[key]
    if not isinstance(value, str) or not value.strip():
        raise GoldenError(f"{where}: {key} is no text")
    if form is not None and not form.fullmatch(value):
        raise GoldenError(f"{where}: {key} {value!r} is not {words}")
    return value


def _word(found: dict[str, Any], key: str, where: str, known: tuple[str, ...]) -> str:
    value = found[key]
    if value not in known:
        raise GoldenError(f"{where}: {key} {value!r} is none of {', '.join(known)}")
    return str(value)


def _words(found: dict[str, Any], key: str, where: str) -> tuple[str, ...]:
    value = found[key]
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise GoldenError(f"{where}: {key} is no array of texts")
    if len(set(value)) < len(value):
        raise GoldenError(f"{where}: {key} names something twice")
    return tuple(value)


def _octets(found: dict[str, Any], where: str) -> bytes:
    value = found["bytes"]
    if not isinstance(value, str) or not _HEX.fullmatch(value):
        raise GoldenError(f"{where}: bytes {value!r} are not pairs of lower-case hex digits")
    return bytes.fromhex(value)


def _about(found: dict[str, Any], where: str) -> dict[str, Any]:
    """Return what cases and poses share."""
    return {
        "id": _text(found, "id", where, _WORDS, "lower-case words with hyphens"),
        "comment": _text(found, "comment", where),
        "source": _word(found, "source", where, SOURCES),
        "flags": _words(found, "flags", where),
    }


_ABOUT: Final = ("id", "comment", "source", "flags")


def _valid(found: Any, where: str) -> bool:
    if not isinstance(found, dict):
        raise GoldenError(f"{where}: is no object")
    if "result" not in found:
        raise GoldenError(f"{where}: result is missing")
    return _word(found, "result", where, ("valid", "invalid")) == "valid"


def _case(found: Any, where: str) -> Case:
    if not _valid(found, where):
        _check_keys(found, where, (*_ABOUT, "bytes", "result", "error"))
        about, error = _about(found, where), found["error"]
        _check_keys(error, f"{where}: error", ("code", "path", "byte"))
        byte = error["byte"]
        if byte is not None and (type(byte) is not int or byte < 0):
            raise GoldenError(f"{where}: error: byte {byte!r} is neither a byte's number nor null")
        if not isinstance(error["path"], str):
            raise GoldenError(f"{where}: error: path is no text")
        code = _text(error, "code", f"{where}: error", _CODE, "a code")
        return Case(**about, data=_octets(found, where), error=Refusal(code, error["path"], byte))
    _check_keys(found, where, (*_ABOUT, "promises", "bytes", "result", "record"))
    about, promised = _about(found, where), _words(found, "promises", where)
    for promise in promised:
        if promise not in PROMISES:
            raise GoldenError(f"{where}: promises: {promise!r} is none of {', '.join(PROMISES)}")
    if not promised:
        raise GoldenError(f"{where}: promises nothing")
    if not isinstance(found["record"], dict):
        raise GoldenError(f"{where}: record is no object")
    promises = tuple(promise for promise in PROMISES if promise in promised)
    return Case(**about, promises=promises, data=_octets(found, where), record=found["record"])


def _pose(found: Any, where: str) -> Pose:
    valid = _valid(found, where)
    if "direction" not in found:
        raise GoldenError(f"{where}: direction is missing")
    direction = _word(found, "direction", where, DIRECTIONS)
    given, wanted = ("quaternion", "bytes") if direction == "encode" else ("bytes", "quaternion")
    _check_keys(found, where, (*_ABOUT, "direction", given, "result", wanted if valid else "error"))
    about, code = _about(found, where), None
    if not valid:
        _check_keys(found["error"], f"{where}: error", ("code",))
        code = _text(found["error"], "code", f"{where}: error", _CODE, "a code")
    quaternion = _quaternion(found["quaternion"], where) if "quaternion" in found else None
    data = _octets(found, where) if "bytes" in found else None
    return Pose(**about, direction=direction, quaternion=quaternion, data=data, code=code)


def _quaternion(found: Any, where: str) -> tuple[str, ...]:
    if not isinstance(found, list) or len(found) != 4:
        raise GoldenError(f"{where}: quaternion is no array of four")
    for item in found:
        if not isinstance(item, str) or not _FLOAT32.fullmatch(item):
            raise GoldenError(f"{where}: quaternion: {item!r} is not the 8 hex digits of a binary32")
        bits = int(item, 16)
        if 0x7F800000 < bits & 0x7FFFFFFF < 0x7FC00000:
            raise GoldenError(f"{where}: quaternion: {item} is a signalling NaN, which no call can pass on")
    return tuple(found)


# -- writing


def text_of(file: GoldenFile) -> str:
    """Return the one text of a golden file: keys in the format's order, a line for each key of a case."""
    head: dict[str, Any] = {} if file.schema is None else {"$schema": file.schema}
    head |= {"format": FORMAT, "protocol": file.protocol, "version": file.version, "digest": file.digest}
    lines = [f"  {json.dumps(key)}: {_dump(value)}," for key, value in head.items()]
    flags = [f"    {_dump(name)}: {_dump(told)}" for name, told in file.flags.items()]
    lines += ['  "flags": ' + _wrapped("{", flags, "}") + ","]
    parts = [f'  "cases": {_list_of(file.cases)}']
    if file.poses:
        parts.append(f'  "poses": {_list_of(file.poses)}')
    return "\n".join(["{", *lines, ",\n".join(parts), "}", ""])


def _list_of(vectors: Iterable[Vector]) -> str:
    texts = []
    for vector in vectors:
        pairs = _vector_to_json(vector).items()
        lines = [f"      {_dump(key)}: {_fitted(value, 6, len(key) + 4)}" for key, value in pairs]
        texts.append("    {\n" + ",\n".join(lines) + "\n    }")
    return _wrapped("[", texts, "]")


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

    Raises GoldenError for what could not be read back as the same, OSError where the disk refuses.
    """
    text = text_of(file)
    if text_of(read_text(text, str(path))) != text:
        raise GoldenError(f"{path}: what would be written does not read back as the same")
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        Path(temporary).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o644)
        Path(temporary).replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise


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
