"""`wirelock capture info`: what is in a capture, whatever the protocols in it are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from wirelock.cli.options import format_option, refuse_folders, tunnels_option
from wirelock.cli.sources import sources
from wirelock.shown import escaped

if TYPE_CHECKING:
    from wirelock.capture.contents import Contents, Flow, Traffic
    from wirelock.capture.packets import Interface, Section

_SHOWN: Final = 10
"""The sections, the interfaces of one and the flows that are shown in text."""
_UNITS: Final = {10**3: "ms", 10**6: "us", 10**9: "ns"}


@click.command("info")
@click.argument("path", metavar="CAPTURE", type=click.Path(path_type=Path, allow_dash=True))
@tunnels_option
@format_option
def info(path: Path, tunnels: bool, form: str) -> int:
    """Tell what is in a capture: format, interfaces, packets, UDP flows, faults, and where every byte went.

    A CAPTURE of - is standard input.
    """
    from wirelock.capture.contents import contents_of

    refuse_folders((path,))
    for _, source, name in sources((path,)):
        found = contents_of(source, name, tunnels=tunnels)
        if form == "json":
            click.echo(json.dumps(_document(name, found), indent=1))
            continue
        for line in _lines(name, found):
            click.echo(escaped(line))
    return 0


@click.group("capture", commands=(info,))
def command() -> None:
    """Look into captures."""


# -- text


def _lines(name: str, found: Contents) -> Iterator[str]:
    from wirelock.capture.sinks import seconds
    from wirelock.codec.words import utc

    counts = found.counts
    inside = f", unpacked from {counts.file_bytes} of {counts.compression}" if counts.compression else ""
    yield f"{name}: {_count(counts.bytes, 'byte')}{inside}"
    for section in counts.sections[:_SHOWN]:
        yield from _section_lines(section)
    if counts.section_count > _SHOWN:
        yield f"and {_count(counts.section_count - min(_SHOWN, len(counts.sections)), 'more section')}"
    yield f"{_count(counts.packets, 'packet')}, {found.captured} of {found.original} bytes captured"
    if found.first_ns is not None and found.last_ns is not None:
        span = seconds(found.last_ns - found.first_ns)
        yield f"from {utc(found.first_ns)} to {utc(found.last_ns)}, {span} s"
    if found.timeless:
        yield f"{found.timeless:>8}  without a time"
    yield f"{counts.datagrams:>8}  UDP datagrams"
    if counts.fragments:
        yield f"{counts.fragments:>8}  fragments, besides the one that completes or ends its packet"
    yield from (f"{count:>8}  {label}" for label, count in sorted(counts.others.items()))
    if counts.refused:
        yield f"{counts.refused:>8}  that cannot be read"
    yield from _flow_lines(found)
    for code, count in sorted(found.faults.items()):
        yield f"{count:>8}  fault {code}"
    if not found.faults:
        yield "no faults"
    yield (
        f"bytes: {counts.packet_bytes} packets, {counts.header_bytes} headers, "
        f"{counts.skipped_bytes} in {_count(counts.blocks, 'skipped block')}, {counts.lost_bytes} lost"
    )


def _section_lines(section: Section) -> Iterator[str]:
    writer = f", written by {section.application}" if section.application else ""
    yield f"{section.format}, {section.order}-endian{writer}"
    for number, interface in enumerate(section.interfaces[:_SHOWN]):
        told = "cannot be read" if interface is None else _interface_text(interface)
        yield f"  interface {number}: {told}"
    if len(section.interfaces) > _SHOWN:
        yield f"  and {_count(len(section.interfaces) - _SHOWN, 'more interface')}"


def _interface_text(interface: Interface) -> str:
    parts = [interface.name] if interface.name else []
    parts += [_link_name(interface.link_type), _resolution(interface.per_second)]
    if interface.offset:
        parts.append(f"times from {interface.offset} s on")
    parts.append(f"at most {interface.snaplen} bytes" if interface.snaplen else "whole packets")
    return ", ".join([*parts, _count(interface.packets, "packet")])


def _link_name(link_type: int) -> str:
    from wirelock.capture.links import LINKS

    name = LINKS[link_type][0] if link_type in LINKS else "a link that is not read"
    return f"{name} (link type {link_type})"


def _resolution(per_second: int) -> str:
    if not per_second:
        return "resolution not known"
    for units, name in _UNITS.items():
        if units % per_second == 0 and units // per_second < 1000:
            return f"{units // per_second} {name}"
    return f"1/{per_second} s"


def _flow_lines(found: Contents) -> Iterator[str]:
    if not found.flows:
        return
    yield f"{_count(len(found.flows), 'flow')}:"
    flows = sorted(found.flows.items(), key=lambda item: -item[1].datagrams)
    for flow, traffic in flows[:_SHOWN]:
        yield f"{traffic.datagrams:>8}  {_flow_text(flow)}, {_count(traffic.bytes, 'byte')}"
    rest = [traffic for _, traffic in flows[_SHOWN:]]
    others = found.other_flows
    if rest or others.datagrams:
        datagrams = sum(traffic.datagrams for traffic in rest) + others.datagrams
        yield f"{datagrams:>8}  in other flows, {sum(traffic.bytes for traffic in rest) + others.bytes} bytes"


def _flow_text(flow: Flow) -> str:
    from wirelock.capture.decode import endpoint

    source = endpoint(flow.source, flow.source_port)
    return f"{source} -> {endpoint(flow.destination, flow.destination_port)}"


def _count(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 's'}"


# -- JSON


def _document(name: str, found: Contents) -> dict[str, Any]:
    counts = found.counts
    return {
        "file": name,
        "compression": counts.compression or None,
        "bytes": {
            "file": counts.bytes,
            "as_stored": counts.file_bytes,
            "packets": counts.packet_bytes,
            "headers": counts.header_bytes,
            "skipped": counts.skipped_bytes,
            "lost": counts.lost_bytes,
        },
        "section_count": counts.section_count,
        "sections": [
            {
                "format": section.format,
                "byte_order": section.order,
                "application": section.application or None,
                "interfaces": [_interface(interface) for interface in section.interfaces],
            }
            for section in counts.sections
        ],
        "skipped_blocks": counts.blocks,
        "packets": counts.packets,
        "captured_bytes": found.captured,
        "original_bytes": found.original,
        "first_ns": _time(found.first_ns),
        "last_ns": _time(found.last_ns),
        "timeless": found.timeless,
        "link_types": {str(link): count for link, count in sorted(found.links.items())},
        "datagrams": counts.datagrams,
        "fragments": counts.fragments,
        "refused": counts.refused,
        "other_traffic": dict(sorted(counts.others.items())),
        "flows": [{**flow._asdict(), **_traffic(traffic)} for flow, traffic in found.flows.items()],
        "other_flows": _traffic(found.other_flows),
        "faults": dict(sorted(found.faults.items())),
    }


def _interface(interface: Interface | None) -> dict[str, Any] | None:
    if interface is None:
        return None
    return {
        "name": interface.name or None,
        "link_type": interface.link_type,
        "link": _link_name(interface.link_type).partition(" (")[0],
        "snaplen": interface.snaplen,
        "ticks_per_second": _time(interface.per_second),
        "time_offset": _time(interface.offset),
        "packets": interface.packets,
    }


def _traffic(traffic: Traffic) -> dict[str, int]:
    return {"datagrams": traffic.datagrams, "bytes": traffic.bytes}


def _time(number: int | None) -> str | None:
    """Return a number that may lie beyond what JSON readers keep exactly."""
    return None if number is None else str(number)
