"""The draft of a protocol's next version: its newest one under the next number, and a migration to fill in.

An author's files are only edited where what they say is plain; otherwise nothing is written, and the error
says what to write by hand.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from wirelock.errors import ProjectError
from wirelock.schema.project import Project
from wirelock.schema.registry import Protocol

__all__ = ["Draft", "draft"]


@dataclass(frozen=True, slots=True)
class Draft:
    """What was written: the new version, and each file with whether it is new."""

    version: int
    files: tuple[tuple[Path, bool], ...]


def draft(project: Project, protocol: Protocol) -> Draft:
    """Write the draft of a protocol's next version beside its newest one.

    Raises ProjectError where the files are not of the shape that can be edited, and where the project does
    not load with the draft; then everything is as it was.
    """
    old = max(protocol.versions)
    new = old + 1
    source = Path(inspect.getsourcefile(protocol.versions[old]) or "")
    target = source.with_name(source.name.replace(str(old), str(new)))
    if not source.is_file() or target.name == source.name:
        raise _by_hand(protocol, new, f"{source.name} has no {old} in its name")
    if target.exists():
        raise ProjectError(f"{target} is there already: name it in the Protocol, or move it away")
    text_before = source.read_text("utf-8-sig")
    classes = _classes(text_before, old, new)
    record, module = protocol.versions[old].__name__, protocol.versions[old].__module__
    if record not in classes:
        raise _by_hand(protocol, new, f"{record} has no {old} at its end")
    holder, text = _registered(source, protocol, record, classes[record], target.stem)
    steps = source.with_name("migrations.py")
    texts = {
        target: _next_version(text_before, old, new, classes, module),
        holder: text,
    }
    excluded = ", ".join(f'"{name}"' for name in protocol.tag)
    words = {
        "name": protocol.name,
        "old": old,
        "new": new,
        "record": record,
        "renamed": classes[record],
        "package": _package(text, source.stem),
        "source": source.stem,
        "target": target.stem,
        "left_out": f"exclude={{{excluded}}}" if excluded else "",
    }
    grown = _migrations(words, steps.read_text("utf-8-sig") if steps.exists() else None)
    if grown is not None:
        texts[steps] = grown
        texts[holder] = _with_migrations(text, protocol, steps, source)
    before = {path: path.read_text("utf-8") if path.exists() else None for path in texts}
    try:
        for path, written in texts.items():
            path.write_text(written, "utf-8", newline="\n")
        _prove(project, protocol, new)
    except BaseException:
        for path, was in before.items():
            if was is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(was, "utf-8", newline="\n")
        raise
    return Draft(new, tuple((path, before[path] is None) for path in texts))


def _by_hand(protocol: Protocol, new: int, why: str) -> ProjectError:
    return ProjectError(
        f"{protocol.name}: {why}, so that no draft can be written: copy the newest version by hand, and name"
        f" it {new} in the Protocol"
    )


def _classes(text: str, old: int, new: int) -> dict[str, str]:
    """Return the classes that a file defines under the old number, with their new names."""
    found = re.findall(rf"^class (\w+?){old}\b", text, re.MULTILINE)
    return {f"{name}{old}": f"{name}{new}" for name in found}


def _next_version(text: str, old: int, new: int, classes: dict[str, str], module: str) -> str:
    text = _shared(text, set(classes), module)
    for name, renamed in classes.items():
        text = re.sub(rf"\b{name}\b", renamed, text)
    text = re.sub(rf"\bConst\({old}, ", f"Const({new}, ", text)
    return re.sub(rf'^("""[^\n]*?)\bv{old}\b', rf"\1v{new}", text)


def _shared(text: str, numbered: set[str], module: str) -> str:
    """Import the classes without a number, such as enumerations, in place of a second definition of them."""
    nodes = ast.parse(text).body
    shared = [node for node in nodes if isinstance(node, ast.ClassDef) and node.name not in numbered]
    imports = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    if not shared or not imports:
        return text
    lines = text.splitlines(keepends=True)
    for node in reversed(shared):
        first = min([node.lineno, *(item.lineno for item in node.decorator_list)]) - 1
        del lines[first : node.end_lineno]
    names = ", ".join(sorted(node.name for node in shared))
    lines.insert(imports[-1].end_lineno or 0, f"\nfrom {module} import {names}\n")
    return re.sub(r"\n{4,}", "\n\n\n", "".join(lines))


def _registered(source: Path, protocol: Protocol, record: str, renamed: str, module: str) -> tuple[Path, str]:
    """Return the file that makes the Protocol, and its text with the new version."""
    entry = re.compile(rf"(\b{max(protocol.versions)}: {record}\b)")
    line = re.compile(rf"^from ([\w.]*\.)?{source.stem} import [^\n]*\b{record}\b[^\n]*$", re.MULTILINE)
    for path in sorted(source.parent.glob("*.py")):
        text = path.read_text("utf-8-sig")
        found, imported = entry.search(text), line.search(text)
        if found and imported and "Protocol(" in text:
            new = max(protocol.versions) + 1
            text = text[: found.end()] + f", {new}: {renamed}" + text[found.end() :]
            package = imported.group(1) or ""
            at = imported.end()
            text = f"{text[:at]}\nfrom {package}{module} import {renamed}{text[at:]}"
            return path, re.sub(rf'(__all__ = \[[^\]]*"{record}")', rf'\1, "{renamed}"', text)
    number = max(protocol.versions)
    raise _by_hand(protocol, number + 1, f"no file beside {source.name} says `{number}: {record}`")


def _package(text: str, stem: str) -> str:
    found = re.search(rf"^from ([\w.]*\.)?{stem} import", text, re.MULTILINE)
    return (found.group(1) or "") if found else ""


def _with_migrations(text: str, protocol: Protocol, steps: Path, source: Path) -> str:
    """Return the text of the file that makes the Protocol with the migrations named in it, where plain."""
    package = _package(text, source.stem)
    made = re.search(rf'Protocol\(\s*"{protocol.name}",[^()]*?\}}', text)
    if made is None or "migrations=" in text:
        return text
    text = text[: made.end()] + ", migrations=MIGRATIONS" + text[made.end() :]
    first = re.search(rf"^from {re.escape(package)}{source.stem} import", text, re.MULTILINE)
    assert first is not None, "the import was found before"
    line = f"from {package}{steps.stem} import MIGRATIONS\n"
    return text[: first.start()] + line + text[first.start() :]


_STEPS: Final = '''\
def v{old}_to_v{new}(old: {record}) -> {renamed}:
    """Return what the older record is in v{new}. Fill in what v{new} adds."""
    return {renamed}.model_validate(old.model_dump({left_out}))


def v{new}_to_v{old}(new: {renamed}) -> {record}:
    """Return what the newer record is in v{old}. Above it, `@Lossy("field")` says what v{old} cannot hold."""
    return {record}.model_validate(new.model_dump({left_out}))


'''
_MIGRATION: Final = "Migration({old}, {new}, up=v{old}_to_v{new}, down=v{new}_to_v{old}),"
_FILE: Final = '''\
"""From one version of {name} to the next and back."""

from wirelock import Migration

from {package}{source} import {record}
from {package}{target} import {renamed}


{steps}MIGRATIONS = (
    {migration}
)
'''


def _migrations(words: dict[str, Any], text: str | None) -> str | None:
    """Return the text of the file of migrations with one more; None where its own text is not plain."""
    steps, migration = (part.format(**words) for part in (_STEPS, _MIGRATION))
    if text is None:
        return _FILE.format(**words, steps=steps, migration=migration)
    made = re.search(r"^MIGRATIONS = \(\n(.*?)^\)\n", text, re.MULTILINE | re.DOTALL)
    imported = re.search(
        rf"^from {re.escape(words['package'])}{words['source']} import .*\n", text, re.MULTILINE
    )
    if made is None or imported is None:
        return None
    line = f"from {words['package']}{words['target']} import {words['renamed']}\n"
    head, tail = text[: made.start()], text[made.end(1) :]
    head = head[: imported.end()] + line + head[imported.end() :]
    return f"{head}{steps}MIGRATIONS = (\n{made.group(1)}    {migration}\n{tail}"


def _prove(project: Project, protocol: Protocol, new: int) -> None:
    """Load the project anew, with the draft. Raises ProjectError where that fails."""
    code = (
        "import sys; from pathlib import Path; from wirelock.schema.project import find_project;"
        f" registry = find_project(Path(sys.argv[1]), sys.argv[2]).load();"
        f" registry[{protocol.name!r}].layout({new})"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(project.root), project.protocols], capture_output=True, text=True
    )
    if run.returncode:
        told = run.stderr.strip().splitlines()[-1:] or ["it does not load"]
        raise _by_hand(protocol, new, f"the project does not load with the draft ({told[0][:160]})")
