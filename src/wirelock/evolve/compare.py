"""Two sides -> findings: what differs between their versions, each under the rule that it breaks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from wirelock.evolve.renames import aligned
from wirelock.evolve.rules import CATEGORIES, Rule, rule_of
from wirelock.evolve.sides import Side, Version
from wirelock.evolve.wording import worded
from wirelock.layout.nodes import Layout
from wirelock.lock.diff import ABSENT, Difference, differences

__all__ = ["Finding", "compare_sides", "compare_versions"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One difference between two versions, with the rule that it breaks; `new` is None where it is gone."""

    rule: Rule
    old: Version
    new: Version | None
    difference: Difference

    def __str__(self) -> str:
        return str(self.difference)


def compare_sides(old: Side, new: Side) -> list[Finding]:
    """Return what differs between two sides, version by version.

    A new version is no finding, nor is a retired one that is gone.
    """
    if old.chosen and new.chosen:
        return compare_versions(old.versions[0], new.versions[0])
    protocols = {version.protocol for version in new.versions}
    found: list[Finding] = []
    for version in old.versions:
        partner = new.find(version.protocol, version.number)
        if partner is not None:
            found += compare_versions(version, partner)
            continue
        if version.entry.retired:
            continue
        aspect = "version" if version.protocol in protocols else "protocol"
        gone = Difference("", aspect, "there", ABSENT)
        found.append(Finding(rule_of(gone), version, None, gone))
    return found


def compare_versions(old: Version, new: Version) -> list[Finding]:
    """Return what differs between two versions: for peers first, then for callers, then in words."""
    found = [Finding(rule_of(item), old, new, item) for item in _differences(old, new)]
    return sorted(found, key=lambda finding: CATEGORIES.index(finding.rule.category))


def _differences(old: Version, new: Version) -> Iterator[Difference]:
    was, now = old.entry, new.entry
    if was.repeats != now.repeats:
        yield Difference("", "repeats", str(was.repeats), str(now.repeats))
    layout, renamed = aligned(was.layout, now.layout)
    found = differences(was.layout, layout, was.tag, _tag(new, layout))
    yield from found
    yield from renamed
    if not found and not renamed and was.repeats == now.repeats and was.digest != now.digest:
        yield Difference("", "digest", was.digest, now.digest)
    documented = old.record is not None and new.record is not None
    yield from worded(was.layout, layout, "", documented=documented)


def _tag(version: Version, renamed: Layout) -> tuple[str, ...]:
    """Return a version's tag under the names of the renamed layout: a tag is its fields, not their names."""
    pairs = zip(version.entry.layout.fields, renamed.fields, strict=True)
    names = {item.label: other.label for item, other in pairs}
    return tuple(names.get(name, name) for name in version.entry.tag)
