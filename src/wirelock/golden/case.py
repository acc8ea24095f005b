"""What a golden file holds: cases, poses and what they share, as frozen data. Knows nothing of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

FORMAT: Final = "wirelock-golden/1"
SOURCES: Final = ("hand", "capture", "article", "generator")
"""Where a case comes from. Only `generator` cases came out of the code that they test."""
PROMISES: Final = ("decode-old", "encode-exact")
"""decode-old: these bytes still mean this record. encode-exact: this record still gives these bytes."""
DIRECTIONS: Final = ("encode", "decode")


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
