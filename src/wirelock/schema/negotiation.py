"""Hello: which versions of a protocol a peer speaks, with fingerprints; and which one two peers agree on.

A fingerprint is the first 64 bits of a version's digest. Each field, limit and rule has one of 32 bits too,
so that peers with different layouts under one number can say which field differs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from wirelock.errors import NegotiationError
from wirelock.layout.canonical import layout_to_json
from wirelock.layout.nodes import Layout
from wirelock.layout.terms import inner_path

__all__ = ["Disagreement", "Hello", "Offer", "agree", "offer"]

MAX_TEXT: Final = 1 << 20
"""The longest hello that is read, in characters."""
MAX_TOLD: Final = 80
"""Of what a peer sent, no more characters are told."""
_FORMAT: Final = 1
_FINGERPRINT: Final = re.compile(r"[0-9a-f]{16}")
_PART: Final = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class Offer:
    """One version that a peer speaks: its fingerprint, and those of its parts, by path in wire order."""

    version: int
    fingerprint: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A version that both peers speak, but not alike; `path` is the first part that differs."""

    version: int
    path: str

    def __str__(self) -> str:
        return f"v{self.version} differs at {self.path}" if self.path else f"v{self.version} differs"


@dataclass(frozen=True, slots=True)
class Hello:
    """What a peer says of itself: the protocol and its versions, newest first."""

    protocol: str
    offers: tuple[Offer, ...]

    def to_json(self) -> str:
        """Return the hello as one line of JSON, as it is sent."""
        versions = {
            str(item.version): {"fingerprint": item.fingerprint, "parts": dict(item.parts)}
            for item in self.offers
        }
        found = {"wirelock_hello": _FORMAT, "protocol": self.protocol, "versions": versions}
        return json.dumps(found, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Hello:
        """Return the hello that a peer sent. Raises NegotiationError for text that is none."""
        if len(text) > MAX_TEXT:
            raise NegotiationError("", f"a hello of {len(text)} characters, more than {MAX_TEXT}")
        try:
            return _read(json.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as problem:
            told = " ".join(f"{type(problem).__name__}: {problem}".split())[:80]
            raise NegotiationError("", f"this is no hello ({told})") from None


def _read(found: Any) -> Hello:
    if type(found["wirelock_hello"]) is not int or found["wirelock_hello"] != _FORMAT:
        raise ValueError(f"format {found['wirelock_hello']!r}, this one reads {_FORMAT}")
    offers = []
    for number, item in found["versions"].items():
        fingerprint, parts = item["fingerprint"], item["parts"]
        if not re.fullmatch(r"0|[1-9][0-9]{0,8}", number) or not _FINGERPRINT.fullmatch(fingerprint):
            raise ValueError(f"version {number!r}")
        if not all(_PART.fullmatch(value) for value in parts.values()):
            raise ValueError(f"parts of version {number}")
        offers.append(Offer(int(number), fingerprint, tuple(parts.items())))
    if not isinstance(found["protocol"], str):
        raise TypeError(f"protocol {found['protocol']!r}")
    return Hello(found["protocol"], tuple(sorted(offers, key=lambda item: -item.version)))


def offer(version: int, layout: Layout, digest: str, around: Any) -> Offer:
    """Return what a peer says of one version that it speaks; `around` is what the digest adds to it."""
    node = layout_to_json(layout)
    whole = {key: node[key] for key in ("order", "validators") if key in node}
    parts = (("the record", _fingerprint([whole, around])), *_parts(node, ""))
    return Offer(version, digest.removeprefix("sha256:")[:16], parts)


def _parts(node: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the fingerprint of each field and rule, those of records inside behind theirs."""
    for number, item in enumerate(node.get("fields", ())):
        name = item["name"] or f"#{number}"
        place = inner_path(path, name)
        yield place, _fingerprint(item)
        yield from _inside(item, place)
    for rule in node.get("rules", ()):
        yield f"{path}:{rule['name']}", _fingerprint({"holds": rule["holds"]})


def _inside(item: Any, path: str) -> Iterator[tuple[str, str]]:
    if "fields" in item:
        yield from _parts(item, path)
    suffix = "[]" if item.get("kind") == "array" else ""
    inner = item.get("of")
    for part in inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []:
        yield from _inside(part, path + suffix)
    for case in item.get("cases", ()):
        key = case.get("case", case.get("begins"))
        yield from _inside(case["of"], f"{path}{{{key}}}")
    if "default" in item:
        yield from _inside(item["default"], f"{path}{{default}}")


def _fingerprint(node: Any) -> str:
    """Return 32 bits of a part's own description, without the records inside of it and names of classes."""
    text = json.dumps(_shallow(node), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _shallow(node: Any) -> Any:
    if isinstance(node, dict):
        if node.get("kind") == "record" and "name" not in node:
            return "record"
        left_out = ("fields", "rules", "record", "enumeration", "doc")
        return {key: _shallow(value) for key, value in node.items() if key not in left_out}
    return [_shallow(item) for item in node] if isinstance(node, list) else node


def agree(ours: Hello, theirs: Hello) -> tuple[int, tuple[Disagreement, ...]]:
    """Return the highest version that both speak with one layout, and the higher ones that they do not.

    Raises NegotiationError where there is none, with the version and the field that differ.
    """
    if ours.protocol != theirs.protocol:
        raise NegotiationError(ours.protocol, f"the peer speaks {theirs.protocol!r:.40}")
    known = {item.version: item for item in theirs.offers}
    refused: list[Disagreement] = []
    for item in ours.offers:
        other = known.get(item.version)
        if other is None:
            continue
        if other.fingerprint == item.fingerprint:
            return item.version, tuple(refused)
        refused.append(Disagreement(item.version, _first_difference(item, other)))
    if refused:
        told = "; ".join(map(str, refused))
        raise NegotiationError(
            ours.protocol, told, "one side has an edited layout: compare both locks", refused[0]
        )
    sides = " and ".join((_versions(ours, "ours"), _versions(theirs, "theirs")))
    raise NegotiationError(ours.protocol, f"no version is spoken by both: {sides}")


def _versions(hello: Hello, whose: str) -> str:
    told = ", ".join(f"v{item.version}" for item in hello.offers) or "none"
    return f"{whose} are {told if len(told) <= MAX_TOLD else told[:MAX_TOLD] + '...'}"


def _first_difference(ours: Offer, theirs: Offer) -> str:
    """Return the path of the first part that differs, printable whatever the peer sent."""
    other = dict(theirs.parts)
    for path, fingerprint in ours.parts:
        if other.get(path) != fingerprint:
            return path
    mine = dict(ours.parts)
    more = next((path for path in other if path not in mine), "")[:MAX_TOLD]
    return more if more.isprintable() else ascii(more)
