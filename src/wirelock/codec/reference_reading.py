"""The state of one parse by the reference engine: the bytes, the trail, the region, the open record."""

from __future__ import annotations

from dataclasses import dataclass

from wirelock.codec.trail import Found, Frame, Trail
from wirelock.errors import Fault


@dataclass(slots=True)
class Reading:
    """One parse. `end` is the byte behind the innermost region, `frame` that of the innermost open record."""

    data: bytes
    trail: Trail
    end: int
    frame: Frame | None = None

    def fit(self, path: str, start: int, wanted: int) -> None:
        """Raise Found where `wanted` bytes at byte `start` do not fit in the region."""
        if wanted > self.end - start:
            raise Found(Fault("truncated", path, str(self.end - start), str(wanted), start))

    def start(self, path: str) -> int:
        """Return the bit at which the value with that path starts."""
        return next(mark.bit for mark in reversed(self.trail.marks) if mark.path == path)

    def check_padding(self, path: str, start: int, stop: int, pattern: int) -> None:
        """Raise Found at the first byte that is not the pattern."""
        for byte, found in enumerate(self.data[start:stop], start):
            if found != pattern:
                raise Found(Fault("not-canonical", path, f"{found:#04x}", f"{pattern:#04x}", byte))
