"""`wirelock golden add`: one case behind the others, out of a packet, hex text or a record in JSON.

What is written is what the code does with the bytes, and is printed so that a person can judge it. Nothing
is written for a version that is released and has drifted: its cases are the proof of what it was.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from wirelock.cli.options import (
    find,
    opened,
    project_of,
    protocols_option,
    refuse_folders,
    shown_path,
    tunnels_option,
)
from wirelock.errors import GoldenError
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.capture.datagrams import Datagram
    from wirelock.golden.case import Case
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Protocol, Registry

_SOURCES: Final = ("hand", "capture", "article", "generator")
_PROMISES: Final = ("decode-old", "encode-exact")
_LOOK: Final = (
    "these bytes are what today's code makes of the record: compare them with what they should be"
    " before others rely on them"
)


class _Given(NamedTuple):
    """The bytes of a case, and what is said of it unless the command says otherwise."""

    data: bytes
    id: str
    comment: str | None
    source: str


@click.command("add")
@click.argument("version", metavar="PROTOCOL/vN")
@click.argument("what", metavar="WHAT...", nargs=-1, required=True)
@click.option("--packet", metavar="N", type=click.IntRange(1), help="WHAT is a capture: take its packet N.")
@click.option("--hex", "is_hex", is_flag=True, help="WHAT is the bytes as hex text.")
@click.option(
    "--record", "is_record", is_flag=True, help="WHAT is a file of a record in JSON (- for standard input)."
)
@click.option(
    "--skip", metavar="BYTES", type=click.IntRange(0), help="Of the packet's payload, before its record."
)
@tunnels_option
@click.option(
    "--number", metavar="K", type=click.IntRange(0), help="Which record of a packet with several, from 0."
)
@click.option(
    "--id", "identifier", metavar="ID", help="Lower-case words with hyphens; by its source unless given."
)
@click.option("--comment", help="Why the case is there, or how its bytes were worked out.")
@click.option("--source", type=click.Choice(_SOURCES), help="Where the bytes come from.")
@click.option(
    "--flag", "flags", metavar="NAME[=WORDS]", multiple=True,
    help="The bug that the case stands for; with WORDS for one that the file does not explain yet.",
)  # fmt: skip
@click.option(
    "--promise", "promises", type=click.Choice(_PROMISES), multiple=True, help="Only this one, of both."
)
@protocols_option
def add(
    version: str,
    what: tuple[str, ...],
    packet: int | None,
    is_hex: bool,
    is_record: bool,
    skip: int | None,
    tunnels: bool,
    number: int | None,
    identifier: str | None,
    comment: str | None,
    source: str | None,
    flags: tuple[str, ...],
    promises: tuple[str, ...],
    protocols: str | None,
) -> int:
    """Add a case to the golden file of a version, behind those that it has; none of these changes.

    Say one of --packet, --hex and --record. The record that the bytes are, or the fault that they have, is
    what the code says today.
    """
    from wirelock.golden.append import append, first_file, write_schema
    from wirelock.golden.vectors import golden_path

    if (packet is not None) + is_hex + is_record != 1:
        raise click.UsageError("say what the case is made of: one of --packet N, --hex and --record")
    if packet is None and (skip is not None or number is not None or tunnels):
        raise click.UsageError("--skip, --tunnels and --number go with --packet")
    project = project_of(protocols)
    registry = project.load()
    protocol, which = find(registry, version)
    if which is None:
        versions = ", ".join(f"{protocol.name}/v{known}" for known in protocol.versions)
        raise click.UsageError(f"say which version: one of {versions}")
    if packet is not None:
        given = _packet(protocol, which, *_datagram(what, packet, tunnels), skip or 0, number)
    else:
        given = _hex(what) if is_hex else _record(protocol, which, what)
    said: dict[str, Any] = {"id": identifier, "comment": comment, "source": source}
    given = given._replace(**{name: text for name, text in said.items() if text is not None})
    if given.comment is None:
        raise click.UsageError("say why the case is there, or how its bytes were worked out, with --comment")
    names, explained = _flags(flags)
    case = _made(protocol, which, given, names, promises or _PROMISES)
    if packet is not None and case.error is not None and case.error.code == "foreign":
        raise click.UsageError(f"packet {packet} of {what[0]} is no {protocol.name} but another protocol's")
    if promises and case.error is not None:
        raise click.UsageError(f"the bytes are refused ({case.error}): such a case has no --promise")
    if _drifted(project, registry, protocol, which):
        return 1
    path = golden_path(project.fixtures, protocol.name, which)
    append(path, case, first_file(protocol, which), explained)
    try:
        write_schema(project.fixtures)
    except (GoldenError, OSError) as problem:  # the case is written, and holds without it
        click.echo(f"wirelock: warning: the schema of golden files was not written: {problem}", err=True)
    _print(path, protocol, which, case)
    if is_record:
        click.echo(f"wirelock: {_LOOK}", err=True)
    return 0


def _made(
    protocol: Protocol, version: int, given: _Given, flags: list[str], promises: tuple[str, ...]
) -> Case:
    """Return the case that bytes are today, on every engine. Raises GoldenError."""
    from wirelock.golden.report import failure
    from wirelock.golden.run import make_case

    case = make_case(
        protocol, version, given.data, id=given.id, comment=given.comment or "", source=given.source,
        flags=flags, promises=[promise for promise in _PROMISES if promise in promises],
    )  # fmt: skip
    found = failure(protocol, version, case)
    if found is not None:
        raise GoldenError(f"{case.id}: the engines do not agree, which is a bug of wirelock: {found.reason}")
    return case


def _flags(given: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """Return the names of flags, and the explanations of those that have one."""
    pairs = [text.partition("=") for text in given]
    return [name for name, _, _ in pairs], {name: told for name, equals, told in pairs if equals}


def _drifted(project: Project, registry: Registry, protocol: Protocol, version: int) -> bool:
    """Whether a released version is no longer what it was; prints what is."""
    from wirelock.golden.vectors import case_hash, read_version
    from wirelock.lock import lockfile

    key = protocol.name, version
    entries = lockfile.read_lock(project.lock).entries if project.lock.exists() else {}
    if key not in entries:
        return False
    file = read_version(project.fixtures, *key)
    hashes = {} if file is None else {vector.id: case_hash(vector) for vector in file.vectors}
    goldens = {protocol.name: {version: hashes}}
    findings = lockfile.check(lockfile.Lock({key: entries[key]}), registry, goldens)
    for finding in findings:
        click.echo(str(finding))
    if findings:
        click.echo("wirelock: a released version has drifted: its golden cases are not added to", err=True)
    return bool(findings)


def _print(path: Path, protocol: Protocol, version: int, case: Case) -> None:
    from wirelock.golden.annotate import listing

    size = f"{len(case.data)} byte{'' if len(case.data) == 1 else 's'}"
    told = f"valid, {' and '.join(case.promises)}" if case.error is None else f"invalid, {case.error}"
    click.echo(f"{shown_path(path)}: {case.id} added: {told}; {size}, source {case.source}")
    place = "" if case.error is None else case.error.path
    for line in listing(protocol.layout(version), case.data, place):
        click.echo(escaped(line))


# -- what a case is made of


def _datagram(what: tuple[str, ...], packet: int, tunnels: bool) -> tuple[Datagram, str]:
    """Return a datagram of a capture, and the name of the capture's file."""
    from wirelock.capture.pick import datagram_of

    if len(what) > 1:
        raise click.UsageError(f"one capture is read at a time, not {len(what)}")
    path = Path(what[0])
    refuse_folders((path,))
    capture, name = opened(path)
    found = datagram_of(capture, packet, name, tunnels=tunnels)
    return found, escaped(path.name) if capture is path else name


def _packet(
    protocol: Protocol, version: int, datagram: Datagram, file: str, skip: int, number: int | None
) -> _Given:
    from wirelock.capture.decode import endpoint
    from wirelock.codec.words import utc

    packet = datagram.packet
    if skip > len(datagram.payload):
        raise click.UsageError(f"packet {packet} has {len(datagram.payload)} bytes, fewer than --skip {skip}")
    data = _one_record(protocol, version, datagram.payload[skip:], packet, number)
    time = "" if datagram.time_ns is None else f", {utc(datagram.time_ns)}"
    ends = (
        endpoint(datagram.source, datagram.source_port),
        endpoint(datagram.destination, datagram.destination_port),
    )
    which = "" if number is None else f"-{number}"
    told = "" if number is None else f"Record {number} of packet"
    comment = f"{told or 'Packet'} {packet} of {file}{time}, {' -> '.join(ends)}."
    return _Given(data, f"{_slug(Path(file).stem, 'capture')}-packet-{packet}{which}", comment, "capture")


def _one_record(protocol: Protocol, version: int, data: bytes, packet: int, number: int | None) -> bytes:
    """Return the bytes of the one record that a case is about."""
    from wirelock.schema.inspection import inspect_all

    if not protocol.repeats:
        if number is not None:
            raise click.UsageError(f"{protocol.name} has one record a datagram: leave out --number")
        return data
    records = list(inspect_all(protocol, data, None if protocol.tag else version))
    if len(records) > 1 and number is None:
        raise click.UsageError(
            f"packet {packet} has {len(records)} records: say which with --number 0..{len(records) - 1}"
        )
    if (number or 0) >= len(records):
        raise click.UsageError(f"packet {packet} has {len(records)} records, the first of which is number 0")
    found = records[number or 0]
    return data[found.start :] if found.error else data[found.start : found.start + found.readout.end]


def _hex(what: tuple[str, ...]) -> _Given:
    from wirelock.cli.inspect import hex_bytes

    data = hex_bytes(" ".join(what), "the argument")
    return _Given(data, f"bytes-{hashlib.sha256(data).hexdigest()[:8]}", None, "hand")


def _record(protocol: Protocol, version: int, what: tuple[str, ...]) -> _Given:
    from wirelock.golden.run import bytes_of

    if len(what) > 1:
        raise click.UsageError(f"one record is read at a time, not {len(what)}")
    name = what[0]
    octets = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    try:
        data = bytes_of(protocol, version, octets.decode("utf-8"))
    except UnicodeDecodeError:
        raise click.UsageError(f"{name} is no JSON: it is not in UTF-8") from None
    except GoldenError as error:
        raise click.UsageError(f"{name}: {error}") from None
    return _Given(data, "record" if name == "-" else _slug(Path(name).stem, "record"), None, "generator")


def _slug(text: str, otherwise: str) -> str:
    """Return a file's name as lower-case words with hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or otherwise
