"""The compilers of C and C++ for tests: build what was exported, and ask the program that comes with it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

WARNINGS: Final = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
COMPILERS: Final = {
    "gcc": ("gcc", "-std=c99"),
    "clang": ("clang", "-std=c99"),
    "g++": ("g++", "-std=c++11", "-x", "c++"),
    "clang++": ("clang++", "-std=c++11", "-x", "c++"),
}
CHECKED: Final = ("-O0", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
"""Stops at what C leaves undefined, and at any byte outside of the datagram or of the caller's buffer."""
FASTEST: Final = ("-O3", "-march=native", "-ffp-contract=fast")
"""What could change a byte: vectors, and fused multiply-add wherever the compiler may."""

EXCESS: Final = ("-O2", "-mfpmath=387")
"""The x87's arithmetic, which keeps more bits of a float than a float has."""


def build(
    files: Mapping[str, str], folder: Path, compiler: str = "gcc", flags: Sequence[str] = CHECKED
) -> list[str]:
    """Write exported files into a folder and compile their test program; return the command that starts it.

    A warning is an error. A compiler that is missing fails under CI, and skips elsewhere.
    """
    command = COMPILERS[compiler]
    if shutil.which(command[0]) is None:
        message = f"{command[0]} is not installed"
        pytest.fail(message) if os.environ.get("CI") == "true" else pytest.skip(message)
    for path, text in files.items():
        (folder / path).write_text(text, "utf-8")
    (source,) = (path for path in files if path.endswith("_test.c"))
    program = folder / "runner"
    compiled = subprocess.run(
        [*command, *WARNINGS, *flags, source, "-o", program, "-lm"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert compiled.returncode == 0, compiled.stderr[:4000]
    return [str(program)]


def ask(command: Sequence[str], requests: Iterable[str]) -> list[str]:
    """Return the answers of a runner to requests, one line each."""
    lines = [*requests]
    found = subprocess.run(
        [*command, "lines"], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[:4000]
    answers = found.stdout.splitlines()
    assert len(answers) == len(lines), found.stderr[:4000]
    return answers
