"""What was found, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from wirelock.errors import DecodeError
from wirelock.evolve.captured import Recorded
from wirelock.evolve.compare import Finding
from wirelock.evolve.pairs import Direction, MisreadPacket, Pair
from wirelock.evolve.sides import Version
from wirelock.golden.annotate import listing
from wirelock.layout.nodes import Layout

__all__ = ["finding_lines", "heading", "pair_lines"]


def heading(old: Version, new: Version | None) -> str:
    """Return how two versions are called together: `snapshot v1`, or `snapshot v1 -> snapshot v2`."""
    return old.label if new is None or new.label == old.label else f"{old.label} -> {new.label}"


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a heading for each pair of versions with findings, and a line for each finding."""
    width = max((len(finding.rule.id) for finding in findings), default=0)
    for title, group in groupby(findings, lambda finding: heading(finding.old, finding.new)):
        yield title
        for finding in group:
            yield f"  {finding.rule.category:<6}  {finding.rule.id:<{width}}  {finding.difference}"


def pair_lines(pair: Pair, recorded: Recorded | None = None) -> Iterator[str]:
    """Yield what readers of two versions do with each other's packets, with the witnesses."""
    yield f"{_together(pair)}: what each does with packets of the other"
    for line in _pair_lines(pair):
        yield f"  {line}".rstrip()
    if recorded is not None and not pair.missing:
        for line in _recorded_lines(recorded, pair.names):
            yield f"  {line}"


def _together(pair: Pair) -> str:
    return (
        f"{pair.old.label}, old and new"
        if pair.old.label == pair.new.label
        else (f"{pair.old.label} and {pair.new.label}")
    )


def _pair_lines(pair: Pair) -> Iterator[str]:
    names = pair.names
    if pair.missing:
        yield f"not tried: {', '.join(pair.missing)} cannot be run here"
        return
    for side, reader, writer in ((pair.forward, names[1], names[0]), (pair.backward, names[0], names[1])):
        yield from _direction_lines(side, reader, writer)
    yield from _misread_lines(pair, names)
    if pair.validators:
        yield f"not asked: {', '.join(pair.validators)}, which are Python code"
    told_apart = pair.told_apart
    if told_apart:
        yield f"the tag tells them apart: to a peer that has only one of them, the other is {told_apart}"
    elif pair.old.entry.tag and pair.new.entry.tag:
        yield "the tag does not tell them apart"
    else:
        yield "no tag tells them apart"


def _direction_lines(side: Direction, reader: str, writer: str) -> Iterator[str]:
    if not side.tried:
        yield f"a reader of {reader}: not tried, for no packet of {writer} was found"
    elif side.refused is None:
        yield f"a reader of {reader} takes all of {side.tried} tried packets of {writer}; refused: none found"
    else:
        taken = side.taken or "none"
        yield f"a reader of {reader} takes {taken} of {side.tried} tried packets of {writer}, and refuses:"
        assert side.fault is not None
        yield from _listing(side.reader.entry.layout, side.refused, side.fault.path)
        yield f"  {DecodeError(side.reader.label, side.fault)}"


def _misread_lines(pair: Pair, names: tuple[str, str]) -> Iterator[str]:
    if not pair.misread:
        yield f"read otherwise, of {pair.both} that both take: none found"
        return
    yield f"read otherwise, of {pair.both} that both take: {', '.join(pair.fields)}"
    for found in pair.misread.values():
        yield from _misread(pair, found, names)


def _misread(pair: Pair, found: MisreadPacket, names: tuple[str, str]) -> Iterator[str]:
    octets = f"{len(found.data)} byte{'' if len(found.data) == 1 else 's'}"
    yield f"of {octets}: {found.misread.told(*names)}"
    sides = zip((pair.old, pair.new), (found.misread.old, found.misread.new), names, strict=True)
    for version, leaf, name in sides:
        yield f"  to {name}:"
        for line in _listing(version.entry.layout, found.data, leaf.path if leaf else ""):
            yield f"  {line}"


def _recorded_lines(recorded: Recorded, names: tuple[str, str]) -> Iterator[str]:
    theirs = f"{recorded.old} packets of {names[0]} and {recorded.new} of {names[1]}"
    yield f"recorded: {recorded.datagrams} datagrams, in them {theirs}; {recorded.affected} affected"
    for item in recorded.named:
        yield f"  {item}"
    if recorded.affected > len(recorded.named):
        yield f"  and {recorded.affected - len(recorded.named)} more"


def _listing(layout: Layout, data: bytes, path: str) -> Iterator[str]:
    for line in listing(layout, data, path.removeprefix("[0]").removeprefix(".")):
        yield f"  {line}"
