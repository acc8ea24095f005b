"""`wirelock inspect`: one datagram's bytes, field by field, up to the first fault in them."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

import click

from wirelock.cli.options import find_readable, project_of, protocols_option
from wirelock.errors import DecodeError
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.schema.inspection import Inspected
    from wirelock.schema.registry import Protocol, Registry

LARGEST: Final = 1 << 18
"""Inputs of more bytes are refused: each value is a row in memory."""
_RECORDS: Final = 8
"""The records of a datagram that are shown, before its last."""


@click.command("inspect")
@click.argument("what", metavar="HEX|FILE|-", nargs=-1, required=True)
@click.option(
    "--as",
    "as_version",
    metavar="PROTOCOL[/vN]",
    help="What the bytes are, such as rotation/v1, in place of what their tag says.",
)
@click.option("--hex", "is_hex", is_flag=True, help="FILE or standard input holds hex text.")
@click.option("--all", "whole", is_flag=True, help="Show every element, byte and character of long values.")
@protocols_option
def command(
    what: tuple[str, ...], as_version: str | None, is_hex: bool, whole: bool, protocols: str | None
) -> int:
    """Read the bytes of one datagram or record, field by field.

    HEX is hex text, with spaces, colons, commas or 0x as you like: 5753, "57 53", 0x57,0x53. Anything else
    is the name of a FILE of raw bytes (./5753 for one that is named like hex), and - is standard input.
    With --hex these two hold hex text.

    What stands before a fault is shown, then the bytes around it and the reason, and the exit code is 1.
    """
    registry = project_of(protocols).load()
    chosen = find_readable(registry, as_version) if as_version is not None else None
    data, name = _read(what, is_hex)
    hint = "" if is_hex or name == _ARGUMENT else _hint(data, name)
    protocol, version = chosen or (_recognised(registry, data, hint), None)

    from wirelock.schema.inspection import inspect_all

    failed = _print(list(inspect_all(protocol, data, version)), data, whole)
    if failed and hint:
        click.echo(f"wirelock: {escaped(hint)}", err=True)
    return 1 if failed else 0


def _print(records: list[Inspected], data: bytes, whole: bool) -> bool:
    """Print all records of a datagram; return whether one has a fault."""
    from wirelock.cli.listing import lines

    colour = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    last = len(records) - 1
    hidden = range(0) if whole or last <= _RECORDS else range(_RECORDS, last)
    for number, found in enumerate(records):
        if number in hidden:
            if number == hidden.start:
                print(f"{len(hidden)} more records up to [{last - 1}]; --all shows them\n")
            continue
        size = found.readout.end if found.error is None else len(data) - found.start
        head = f"{found.label}: {found.layout.name}".removesuffix(": ")
        place = "" if found.number is None else f" [{found.number}] at byte {found.start}"
        title = f"{head}{place}, {size} byte{'' if size == 1 else 's'}"
        print(click.style(title, bold=True) if colour else title)
        for line in lines(found, data, whole=whole, colour=colour):
            print(line)
        if number < last:
            print()
    failed = records[-1].error is not None
    if not failed:
        print("no fault")
    return failed


def _recognised(registry: Registry, data: bytes, hint: str) -> Protocol:
    versions = ", ".join(f"{known.name}/v{number}" for known in registry for number in known.versions)
    choices = f"say what the bytes are with --as, one of {versions or 'none'}"
    if not any(known.tag for known in registry):
        raise click.UsageError(f"no protocol of the registry has a tag: {choices}")
    try:
        return registry.recognised(data)
    except DecodeError as error:
        if error.code != "foreign":
            return registry[error.record]
        raise click.UsageError(
            hint or f"{error.found} is the start of no protocol's tag: {choices}"
        ) from None


# -- what to read

_ARGUMENT: Final = "the argument"


def _read(what: tuple[str, ...], is_hex: bool) -> tuple[bytes, str]:
    """Return the bytes and what to call their source."""
    text = " ".join(what)
    if what == ("-",):
        data, name = _take(sys.stdin.buffer, "standard input", is_hex), "standard input"
    elif not _wrong_digit(text):
        if len(what) == 1 and _is_there(text):
            raise click.UsageError(f"{text} is a file and hex text too: write ./{text}, or 0x{text}")
        return hex_bytes(text, _ARGUMENT), _ARGUMENT
    elif len(what) > 1:
        named = next(word for word in what if _wrong_digit(word))
        raise click.UsageError(f"{named!r} is no hex text, and only one FILE is read at a time")
    elif not _is_there(text):
        raise click.UsageError(f"{text} is no file, and no hex text: {_wrong_digit(text)}")
    else:
        with Path(text).open("rb") as stream:
            data, name = _take(stream, text, is_hex), text
    if not is_hex:
        return data, name
    try:
        return hex_bytes(data.decode("ascii"), name), name
    except UnicodeDecodeError:
        raise click.UsageError(f"{name} is no hex text: it is not in ASCII") from None


def _is_there(name: str) -> bool:
    return os.path.lexists(name)  # False, and no error, for a text that is too long for a name


def _take(stream: BinaryIO, name: str, is_hex: bool) -> bytes:
    most = 8 * LARGEST if is_hex else LARGEST
    data = stream.read(most + 1)
    if len(data) > most:
        told = f"{name} has more than {most} bytes, too many to read field by field"
        raise click.UsageError(f"{told}: cut one datagram out of it, as with head -c")
    return data


def _wrong_digit(text: str) -> str:
    """Return what keeps text from being hex, apart from the number of digits; empty if nothing does."""
    found = re.search(r"[^0-9a-fA-F\s,:]", re.sub(r"(?<![^\s,:])0[xX](?=[0-9a-fA-F])", "", text))
    return f"{found[0]!r} is no hex digit" if found else ""


def hex_bytes(text: str, name: str) -> bytes:
    """Return the bytes of hex text. Raises click.UsageError for what is none."""
    problem = _wrong_digit(text)
    if problem:
        raise click.UsageError(f"{name} is no hex text: {problem}")
    octets = bytearray()
    for group in re.split(r"[\s,:]+", text):
        digits = group[2:] if group[:2] in ("0x", "0X") else group
        if len(digits) % 2:
            shown = group if len(group) <= 20 else f"{group[:17]}..."
            raise click.UsageError(f"{shown} is an odd number of hex digits: write two for each byte")
        octets += bytes.fromhex(digits)
    if len(octets) > LARGEST:
        raise click.UsageError(f"{name} has {len(octets)} bytes, more than the {LARGEST} that are read")
    return bytes(octets)


def _hint(data: bytes, name: str) -> str:
    """Return what else a file that was read as raw bytes looks like; empty if like nothing else."""
    from wirelock.capture.headers import PCAP_KINDS, SECTION_MAGIC
    from wirelock.capture.unpack import compression

    if data[:4] in PCAP_KINDS or data[:4] == SECTION_MAGIC:
        return f"{name} is a capture: read it with wirelock decode"
    if kind := compression(data[:4]):
        return f"{name} is {kind}: if there is a capture in it, read it with wirelock decode"
    if data.isascii() and data.strip() and not _wrong_digit(data.decode("ascii")):
        return f"{name} holds hex text: say --hex to read it as such"
    return ""
