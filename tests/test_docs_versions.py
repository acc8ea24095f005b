"""The page on adding a version: its commands and files, in order, from an empty folder."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/versions.md").read_text("utf-8")
BLOCK = re.compile(r"(?:`(protocol/[\w/]+\.py)`[^`]*?\n\n)?```(console|python)\n(.*?)```", re.S)


def matches(shown: list[str], printed: list[str]) -> bool:
    """Whether lines are those shown; `…` is any end of a line, and alone all further lines."""
    for number, line in enumerate(shown):
        if line == "…":
            return True
        if number >= len(printed) or not printed[number].startswith(line.rstrip("…")):
            return False
        if not line.endswith("…") and printed[number] != line:
            return False
    return len(shown) == len(printed)


def test_the_page_can_be_followed(tmp_path: Path) -> None:
    folder, programs = tmp_path, []
    for file, kind, text in BLOCK.findall(PAGE):
        if kind == "python" and not file:
            programs.append(text)
        elif kind == "python":
            assert (folder / file).is_file(), f"{file} is not what the commands wrote"
            (folder / file).write_text(text, "utf-8")
        else:
            for command, *shown in (part.splitlines() for part in re.split(r"^\$ ", text, flags=re.M)[1:]):
                word, *arguments = shlex.split(command)
                if word == "cd":
                    folder = folder / arguments[0]
                    continue
                assert word == "wirelock"
                run = subprocess.run(
                    [sys.executable, "-m", "wirelock", *arguments], cwd=folder, capture_output=True, text=True
                )
                printed = run.stdout.splitlines()
                assert (run.returncode, run.stderr) == (0, ""), command
                assert matches(shown, printed), f"{command}: {printed}"
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(tests, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert len(programs) == 2
    script = tmp_path / "programs.py"
    script.write_text("\n".join(programs), "utf-8")
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
    )
    assert done.returncode == 0, done.stderr
