"""The text of a golden file -> GoldenFile, strictly: what is not of the format is refused in one line.

Refused are also things that JSON readers differ on, so that every client reads the same: a key twice in
one object, NaN, numbers that binary64 does not hold, halves of surrogate pairs, a byte-order mark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final, NoReturn

from wirelock.errors import GoldenError
from wirelock.golden.case import (
    DIRECTIONS,
    FORMAT,
    PROMISES,
    SOURCES,
    Case,
    GoldenFile,
    Pose,
    Refusal,
)

__all__ = ["read_text"]

_WORDS: Final = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_CODE: Final = re.compile(r"[a-z]+(-[a-z]+)*(:[a-z0-9]+(-[a-z0-9]+)*)?")
_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")
_HEX: Final = re.compile(r"([0-9a-f]{2})*")
_FLOAT32: Final = re.compile(r"[0-9a-f]{8}")


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

    if text.startswith("\ufeff"):
        raise GoldenError(f"{name}: begins with a byte-order mark: save it as UTF-8 without one")
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
