"""`wirelock diff`: what a change breaks, between versions, locks and git revisions."""

from __future__ import annotations

import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from wirelock.cli.options import one_standard_input, opened, project_of, protocols_option, tunnels_option
from wirelock.errors import LockError

if TYPE_CHECKING:
    from wirelock.evolve.captured import Recorded
    from wirelock.evolve.compare import Finding
    from wirelock.evolve.pairs import Pair
    from wirelock.evolve.sides import Side, Version
    from wirelock.schema.project import Project
    from wirelock.schema.registry import Registry

FORMATS: Final = ("text", "json", "github", "gitlab")
FAILING: Final = ("wire", "record", "name", "pairs")
_VERSION: Final = re.compile(r"([a-z][a-z0-9_-]*)/v(0|[1-9][0-9]*)")
_NOW: Final = "the protocols as they are"


@click.command("diff")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option(
    "--capture",
    "captures",
    metavar="FILE",
    multiple=True,
    callback=one_standard_input,
    type=click.Path(path_type=Path, exists=True, dir_okay=False, allow_dash=True),
    help="Count which packets of a capture (- for standard input) are affected; may be given more than once.",
)
@click.option(
    "--port",
    "ports",
    metavar="N",
    multiple=True,
    type=click.IntRange(0, 65535),
    help="Of the recording, only datagrams from or to this UDP port.",
)
@click.option(
    "--skip",
    metavar="BYTES",
    default=0,
    type=click.IntRange(0),
    help="Payload bytes of a recorded datagram before its first record.",
)
@tunnels_option
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="text",
    help="github: workflow commands, shown as annotations. gitlab: a Code Quality report.",
)
@click.option(
    "--fail-on",
    "failing",
    type=click.Choice(FAILING),
    multiple=True,
    default=("wire",),
    help="What gives exit code 1, in place of wire; may be given more than once.",
)
@protocols_option
def command(
    old: str,
    new: str | None,
    captures: tuple[Path, ...],
    ports: tuple[int, ...],
    skip: int,
    tunnels: bool,
    form: str,
    failing: tuple[str, ...],
    protocols: str | None,
) -> int:
    """Tell what a change breaks, with a packet that shows it.

    OLD and NEW are each a version (snapshot/v1), a lock file, or a git revision (HEAD~3), which stands for
    the lock as it was there. Without NEW, OLD is compared with the protocols as they are.

    Findings are of the category wire (peers that have OLD refuse bytes of NEW or read them otherwise, or the
    other way round), record (attributes, JSON) or name (classes, documentation). Then comes what readers do
    with packets of another version: of each version that changed, and of all that are live in NEW.

    The exit code is 1 if there is a finding of a category of --fail-on; with --fail-on pairs, if two live
    versions that no tag tells apart refuse or misread packets of each other. It is 2 if OLD, NEW or a
    recording cannot be read, and otherwise 0.
    """
    from wirelock.capture.decode import Selection
    from wirelock.evolve.captured import count_recorded
    from wirelock.evolve.compare import compare_sides
    from wirelock.evolve.pairs import judge, live_pairs

    if not captures and (ports or skip or tunnels):
        raise click.UsageError("--port, --skip and --tunnels are about a recording: name it with --capture")
    if captures and form not in ("text", "json"):
        raise click.UsageError(f"--format {form} has no place for a recording: leave --capture out")
    left, right = _Sources(protocols).both(old, new)
    findings = compare_sides(left, right)
    versions = [*left.versions, *right.versions]
    sources = [version.entry.layout for version in versions if version.record is not None]
    pairs: list[tuple[Pair, Recorded | None]] = []
    if form in ("text", "json") or "pairs" in failing:
        judged = [judge(one, other, sources) for one, other in live_pairs(left, right)]
        selection = Selection(frozenset(ports), skip, tunnels=tunnels)
        recorded = count_recorded(judged, [opened(path)[0] for path in captures], selection, sources)
        pairs = [(pair, found if captures else None) for pair, found in zip(judged, recorded, strict=True)]
    text = _text(form, left, right, findings, pairs)
    if text:
        click.echo(text)
    failed = any(finding.rule.category in failing for finding in findings)
    unsafe = any(not pair.compatible and not pair.told_apart for pair, _ in pairs)
    return 1 if failed or ("pairs" in failing and unsafe) else 0


def _text(
    form: str, left: Side, right: Side, findings: list[Finding], pairs: list[tuple[Pair, Recorded | None]]
) -> str:
    from wirelock.evolve import forges
    from wirelock.evolve.report import finding_lines, pair_lines

    lock = right.lock or left.lock or Path("pyproject.toml")
    match form:
        case "json":
            return forges.json_text((left.name, right.name), findings, pairs)
        case "github":
            return "\n".join(forges.github_lines(findings, lock))
        case "gitlab":
            return forges.gitlab_text(findings, lock)
    parts = ["\n".join(finding_lines(findings)) or f"{left.name}, {right.name}: no differences"]
    parts += ["\n".join(pair_lines(pair, recorded)) for pair, recorded in pairs]
    return "\n\n".join(parts)


class _Sources:
    """Finds the sides; loads the project only where one is needed."""

    def __init__(self, protocols: str | None) -> None:
        self.protocols = protocols

    @cached_property
    def project(self) -> Project:
        return project_of(self.protocols)

    @cached_property
    def registry(self) -> Registry:
        return self.project.load()

    def both(self, old: str, new: str | None) -> tuple[Side, Side]:
        """Return both sides. Where one is a version, the other has that one too, and no other."""
        left, chosen = self.side(old)
        if new is None and chosen is not None:
            raise click.UsageError(f"say what to compare {old} with: a version, a lock or a git revision")
        right, also_chosen = (self.now(), None) if new is None else self.side(new)
        if chosen is not None and also_chosen is None:
            right = _narrowed(right, chosen)
        if also_chosen is not None and chosen is None:
            left = _narrowed(left, also_chosen)
        return left, right

    def now(self) -> Side:
        """Return the protocols as they are."""
        from wirelock.evolve.sides import side_of_registry

        return side_of_registry(self.registry, _NOW)

    def side(self, text: str) -> tuple[Side, Version | None]:
        """Return the side that a text names, and the version if it names one."""
        from wirelock.evolve.sides import lock_at, side_of_lock
        from wirelock.lock.lockfile import read_lock

        path = Path(text)
        if path.is_file():
            return side_of_lock(read_lock(path), text, path), None
        named = _VERSION.fullmatch(text)
        if named is not None:
            version = self.now().find(named[1], int(named[2]))
            if version is not None:
                return self.now().only(version, text), version
        if path.is_dir():
            told = "name a lock file in it, or leave NEW out for the protocols as they are"
            raise click.UsageError(f"{text} is a directory: {told}")
        try:
            lock = lock_at(text, self.project.lock, self.project.root)
        except LockError as problem:
            raise click.UsageError(f"{problem}; {self.choices(text)}") from None
        return side_of_lock(lock, text, self.project.lock), None

    def choices(self, text: str) -> str:
        """Return what else a text may be that is nothing."""
        if not _VERSION.fullmatch(text):
            return f"{text} is no lock file either, and no version such as snapshot/v1"
        names = (f"{protocol.name}/v{number}" for protocol in self.registry for number in protocol.versions)
        return f"the versions are {', '.join(names)}"


def _narrowed(side: Side, version: Version) -> Side:
    found = side.find(version.protocol, version.number)
    if found is None:
        held = ", ".join(f"{known.protocol}/v{known.number}" for known in side.versions) or "nothing"
        raise click.UsageError(f"{side.name} has no {version.protocol}/v{version.number}: it has {held}")
    return side.only(found, side.name)
