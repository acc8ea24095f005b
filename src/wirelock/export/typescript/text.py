"""Pieces of TypeScript source that every part of a module has: comments, and texts set further in."""

from __future__ import annotations

import re
import textwrap

from wirelock.export.typescript.layout import WIDTH

__all__ = ["code_of", "doc_comment", "indented", "mentions", "wrapped"]

_NO_CODE = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`]*`""", re.DOTALL)


def wrapped(prefix: str, text: str) -> str:
    """Return text in lines that begin with a prefix; words are never broken."""
    lines = textwrap.wrap(
        text,
        WIDTH,
        initial_indent=prefix,
        subsequent_indent=prefix,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def doc_comment(text: str, indent: str = "") -> str:
    """Return a doc comment and the end of its line; nothing for no text."""
    told = text.replace("*/", "*\\/").strip()
    if not told:
        return ""
    if len(indent) + len(told) + 7 <= WIDTH and "\n" not in told:
        return f"{indent}/** {told} */\n"
    lines = [f"{indent}/**"]
    for paragraph in told.splitlines():
        lines.append(wrapped(f"{indent} * ", paragraph) or f"{indent} *")
    return "\n".join([*lines, f"{indent} */"]) + "\n"


def indented(text: str, steps: int) -> str:
    """Return a text whose lines, but for the first, begin some steps further in."""
    return text.replace("\n", "\n" + "  " * steps)


def code_of(text: str) -> str:
    """Return a text without its comments and what its strings say."""

    def kept(found: re.Match[str]) -> str:
        return " ".join(re.findall(r"\$\{([^}]*)\}", found[0])) if found[0][0] == "`" else ""

    return _NO_CODE.sub(kept, text)


def mentions(code: str, name: str) -> bool:
    """Whether code, without comments and strings, uses a name: not as that of a property."""
    return re.search(rf"(?<![\w$])(?<!(?<!\.)\.){name}\b(?!\??:)", code) is not None
