"""Vectors against a protocol: run one, make one, and find what is wrong with a whole file.

Sameness is sameness of bytes: records are compared as the JSON that they dump, and by what they build,
never with ==. A mismatch is a value, not an error; an exception that comes out of here is a bug.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from wirelock.codec.floats import float_from_bits, float_to_bits
from wirelock.codec.json_differences import json_differences
from wirelock.errors import CODES, DecodeError, EncodeError, GoldenError
from wirelock.golden.annotate import listing, side_by_side
from wirelock.golden.vectors import PROMISES, Case, GoldenFile, Pose, Refusal, Vector
from wirelock.layout.nodes import Layout, layouts_in
from wirelock.schema.record import Record
from wirelock.schema.registry import Protocol

__all__ = [
    "ENGINES",
    "Mismatch",
    "bytes_of",
    "check_poses",
    "digest_problem",
    "lint",
    "make_case",
    "run",
    "run_case",
    "run_pose",
]

ENGINES: Final = ("generated", "reference")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why a vector does not hold: one line, then the bytes by field."""

    reason: str
    detail: tuple[str, ...] = ()


def run(protocol: Protocol, version: int, vector: Vector, engine: str) -> Mismatch | None:
    """Run one vector on one engine; None if it holds."""
    if isinstance(vector, Case):
        return run_case(protocol, version, vector, engine)
    return run_pose(protocol, version, vector, engine)


def run_case(protocol: Protocol, version: int, case: Case, engine: str) -> Mismatch | None:
    """Run one case on one engine; None if every promise of it holds."""
    if case.error is not None:
        return _run_invalid(protocol, version, case, case.error, engine)
    for promise, holds in (("decode-old", _decode_old), ("encode-exact", _encode_exact)):
        found = holds(protocol, version, case, engine) if promise in case.promises else None
        if found is not None:
            return Mismatch(f"{promise}: {found.reason}", found.detail)
    return None


def run_pose(protocol: Protocol, version: int, pose: Pose, engine: str) -> Mismatch | None:
    """Run one pose on one engine; None if it holds. Raises GoldenError for a record that has no poses."""
    check_poses(protocol, version)
    run_it = _encode_pose if pose.direction == "encode" else _decode_pose
    return run_it(protocol, version, pose, engine)


# -- cases


def _parse(protocol: Protocol, version: int, data: bytes, engine: str) -> Record:
    """Parse as a receiver does: by the tag where there is one, else as the version that the file is of."""
    return protocol.parse(data, version=None if protocol.tag else version, engine=engine)


def _run_invalid(
    protocol: Protocol, version: int, case: Case, wanted: Refusal, engine: str
) -> Mismatch | None:
    layout = protocol.layout(version)
    if wanted.code == "unknown-version":
        protocol = protocol.as_of(version)  # to a peer of that version; a later one may know the bytes
    try:
        record = _parse(protocol, version, case.data, engine)
    except DecodeError as error:
        found = Refusal(error.code, error.path, error.byte)
        ours = error.record in (protocol.name, protocol.label(version))
        if found == wanted and ours:
            return None
        reason = f"wanted {wanted}, found {found}" if ours else f"refused as {error.record}: {error}"
        return Mismatch(reason, tuple(listing(layout, case.data, error.path)))
    told = json.dumps(_record_json(record), ensure_ascii=False)
    detail = ("the record:", f"  {told}", "", *listing(layout, case.data, wanted.path))
    return Mismatch(f"wanted {wanted}, found a record", detail)


def _decode_old(protocol: Protocol, version: int, case: Case, engine: str) -> Mismatch | None:
    layout = protocol.layout(version)
    try:
        record = _parse(protocol, version, case.data, engine)
    except DecodeError as error:
        return Mismatch(f"refused: {error}", tuple(listing(layout, case.data, error.path)))
    if type(record) is not protocol.versions[version]:
        return Mismatch(f"the tag is that of another version: found a {type(record).__name__}")
    differences = [
        f"{path}: the case has {was}, the bytes are {now}"
        for path, was, now in json_differences(case.record, _record_json(record))
    ]
    if differences:
        detail = ["the record:", *(f"  {line}" for line in differences), ""]
        detail += _compared_with_record(protocol, version, case, engine)
        more = f" and {len(differences) - 1} more" if len(differences) > 1 else ""
        return Mismatch(f"the record differs: {differences[0]}{more}", tuple(detail))
    try:
        built = record.build(engine=engine)
    except EncodeError as error:
        return Mismatch(f"the record that was parsed is refused: {error}", tuple(listing(layout, case.data)))
    return _compared("the record that was parsed builds other bytes", layout, case.data, built)


def _compared_with_record(protocol: Protocol, version: int, case: Case, engine: str) -> list[str]:
    """Set the bytes of a case beside those of its own record, if that can be built."""
    layout = protocol.layout(version)
    try:
        built = _load(protocol.versions[version], case.record).build(engine=engine)
    except (ValueError, EncodeError):
        return listing(layout, case.data)
    return side_by_side(layout, case.data, built, ("bytes of the case", "bytes of its record"))


def _encode_exact(protocol: Protocol, version: int, case: Case, engine: str) -> Mismatch | None:
    layout = protocol.layout(version)
    try:
        built = _load(protocol.versions[version], case.record).build(engine=engine)
    except (ValueError, EncodeError) as problem:
        return Mismatch(f"the record is refused: {_one_line(problem)}", tuple(listing(layout, case.data)))
    return _compared("the record builds other bytes", layout, case.data, built)


def _compared(reason: str, layout: Layout, wanted: bytes, found: bytes) -> Mismatch | None:
    if wanted == found:
        return None
    pairs = enumerate(zip(wanted, found, strict=False))
    first = next((i for i, (a, b) in pairs if a != b), min(len(wanted), len(found)))
    reason = f"{reason}: the first difference is at byte {first}"
    return Mismatch(reason, tuple(side_by_side(layout, wanted, found, ("wanted", "found"))))


def _record_json(record: Record) -> Any:
    return json.loads(record.model_dump_json())


def _load(record: type[Record], found: Any) -> Record:
    """Load a record from JSON. Raises ValueError, with what pydantic says."""
    return record.model_validate_json(json.dumps(found, ensure_ascii=False))


def _one_line(problem: Exception) -> str:
    details: Any = getattr(problem, "errors", None)  # pydantic's ValidationError is a ValueError
    if details is None:
        return " ".join(str(problem).split())
    first = details(include_url=False)[0]
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    return f"{place.lstrip('.')}: {first['msg']}".removeprefix(": ")


# -- poses


def check_poses(protocol: Protocol, version: int) -> None:
    """Raise GoldenError where a version's record cannot be made from a quaternion and turned into one."""
    record = protocol.versions[version]
    for name in ("from_quaternion", "to_quaternion"):
        if not callable(getattr(record, name, None)):
            raise GoldenError(f"there are poses, but {record.__name__} has no {name}")


def _encode_pose(protocol: Protocol, version: int, pose: Pose, engine: str) -> Mismatch | None:
    assert pose.quaternion is not None
    layout, record = protocol.layout(version), protocol.versions[version]
    components = [float_from_bits(int(word, 16), 32) for word in pose.quaternion]
    try:
        built: bytes = record.from_quaternion(*components).build(engine=engine)  # type: ignore[attr-defined]
    except EncodeError as error:
        if error.code == pose.code:
            return None
        wanted = pose.code if pose.data is None else pose.data.hex()
        return Mismatch(f"wanted {wanted}, found {error.code}: {error}", _words(pose.quaternion))
    except ValueError as problem:  # from_quaternion is a project's own, and makes a record that is none
        return Mismatch(f"the record is refused: {_one_line(problem)}", _words(pose.quaternion))
    if pose.data is None:
        detail = (*_words(pose.quaternion), "", *listing(layout, built))
        return Mismatch(f"wanted {pose.code}, found {built.hex()}", detail)
    found = _compared("the quaternion gives other bytes", layout, pose.data, built)
    return None if found is None else Mismatch(found.reason, (*_words(pose.quaternion), "", *found.detail))


def _decode_pose(protocol: Protocol, version: int, pose: Pose, engine: str) -> Mismatch | None:
    assert pose.data is not None
    layout = protocol.layout(version)
    try:
        record: Any = _parse(protocol, version, pose.data, engine)
        components = record.to_quaternion()
    except DecodeError as error:
        if error.code == pose.code:
            return None
        wanted = pose.code or "a quaternion"
        detail = listing(layout, pose.data, error.path)
        return Mismatch(f"wanted {wanted}, found {error.code}: {error}", tuple(detail))
    found = tuple(f"{float_to_bits(component, 32):08x}" for component in components)
    if found == pose.quaternion:
        return None
    detail = [*_words(pose.quaternion or (), found), "", *listing(layout, pose.data)]
    return Mismatch(
        f"wanted {' '.join(pose.quaternion or (str(pose.code),))}, found {' '.join(found)}", tuple(detail)
    )


def _words(*quaternions: Iterable[str]) -> tuple[str, ...]:
    """Return quaternions as bits and numbers, one a line."""
    lines = []
    for words in map(tuple, quaternions):
        numbers = [float_from_bits(int(word, 16), 32) for word in words]
        lines += [f"{' '.join(words)}  ({', '.join(f'{number:.9g}' for number in numbers)})"] if words else []
    return tuple(lines)


# -- new cases, whole files


def make_case(
    protocol: Protocol,
    version: int,
    data: bytes,
    *,
    id: str,  # noqa: A002 - the format's own word
    comment: str,
    source: str,
    flags: Iterable[str] = (),
    promises: Iterable[str] = PROMISES,
) -> Case:
    """Return the case that bytes are today: valid with their record, or invalid with their fault.

    What it says is what the code does, right or wrong: a person has to look at it before it is a promise.
    Raises GoldenError where the bytes' tag is that of another version.
    """
    about: dict[str, Any] = {
        "id": id,
        "comment": comment,
        "source": source,
        "flags": tuple(flags),
        "data": data,
    }
    try:
        record = _parse(protocol, version, data, "generated")
    except DecodeError as error:
        if error.record not in (protocol.name, protocol.label(version)):
            raise GoldenError(f"{id}: the bytes are refused as {error.record}: {error}") from None
        return Case(**about, error=Refusal(error.code, error.path, error.byte))
    if type(record) is not protocol.versions[version]:
        raise GoldenError(f"{id}: the bytes are a {type(record).__name__}, not {protocol.label(version)}")
    return Case(**about, promises=tuple(promises), record=_record_json(record))


def bytes_of(protocol: Protocol, version: int, text: str) -> bytes:
    """Return the bytes that today's code makes of a record in JSON. Raises GoldenError."""
    label = protocol.label(version)
    try:
        return protocol.versions[version].model_validate_json(text).build()
    except (ValueError, EncodeError) as problem:
        raise GoldenError(f"this is no record of {label}: {_one_line(problem)}") from None


def lint(file: GoldenFile, protocol: Protocol) -> list[str]:
    """Return what is wrong with a golden file as a whole, a line each; it does not run the vectors.

    The file's protocol, version and digest; codes that no fault has; flags that nothing uses; two cases
    with the same bytes; poses without a record for them; a file that only echoes its codec.
    """
    if file.protocol != protocol.name or file.version not in protocol.versions:
        return [f"the file is of {file.protocol} v{file.version}, which {protocol!r} has not"]
    found = digest_problem(file, protocol)
    used = {flag for vector in file.vectors for flag in vector.flags}
    found += [f"the flag {flag} is explained, but no case has it" for flag in file.flags if flag not in used]
    rules = set(_rules(protocol.layout(file.version)))
    first: dict[bytes, str] = {}
    for case in file.cases:
        if case.data in first:
            found.append(f"case {case.id}: the bytes are those of {first[case.data]}")
        first.setdefault(case.data, case.id)
        if case.error is not None and not _known(case.error.code, rules):
            found.append(
                f"case {case.id}: no fault of {protocol.label(file.version)} has the code {case.error.code}"
            )
    if not any(case.error is None for case in file.cases):
        found.append("no case is valid")
    if not any(case.error is not None for case in file.cases):
        found.append("no case is invalid")
    if all(case.source == "generator" for case in file.cases):
        found.append("every case comes out of the code that it tests: write some by hand, or take a capture")
    if file.poses:
        try:
            check_poses(protocol, file.version)
        except GoldenError as problem:
            found.append(str(problem))
    return found


def digest_problem(file: GoldenFile, protocol: Protocol) -> list[str]:
    """Return, in a list of one, that a file's digest is not that of the layout; an empty list if it is."""
    digest = protocol.digest(file.version)
    if file.digest == digest:
        return []
    label = protocol.label(file.version)
    return [
        f"the file is of another layout: its digest is {file.digest}, that of {label} is {digest};"
        " undo the change of the layout; of a draft, write the new digest or delete the file"
    ]


def _rules(layout: Layout) -> Iterator[str]:
    yield from (f"rule:{rule.name}" for rule in layout.rules)
    for field in layout.fields:
        for inner in layouts_in(field.type):
            yield from _rules(inner)


def _known(code: str, rules: set[str]) -> bool:
    return code in rules if code.startswith("rule:") else code in CODES
