"""The compiler and the runtimes of C# for tests: Mono's mcs, for Mono itself and for CoreCLR.

mcs and Mono are Debian's, CoreCLR is in PyPI's dotnetcore2. The one source is compiled for each runtime, at
7.2: mcs has no later language level, and what 7.2 takes 7.3 takes too. A tool that is missing fails under CI,
and skips elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

RUNTIMES: Final = ("mono", "mono-wide", "coreclr")
"""mono-wide computes with floats in binary64 wherever the code does not say otherwise, as ECMA-335 allows."""
STRICT: Final = ("-warn:4", "-warnaserror", "-checked+")
"""Warnings are errors, and so is arithmetic that overflows where the code does not say that it may."""
ASSEMBLIES: Final = (
    "System.Private.CoreLib", "System.Runtime", "System.Runtime.Extensions", "System.Console",
    "System.Memory", "System.Collections", "System.IO.FileSystem", "System.Net.Sockets",
    "System.Net.Primitives",
)  # fmt: skip
"""Of CoreCLR, what the runner and the clients of tests use."""


def missing(reason: str) -> None:
    """Fail under CI, skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _coreclr() -> tuple[Path, Path]:
    """Return the program of CoreCLR and the folder of its assemblies."""
    found = importlib.util.find_spec("dotnetcore2")
    if found is None or found.origin is None:
        missing("dotnetcore2 is not installed")
    assert found is not None and found.origin is not None
    home = Path(found.origin).parent / "bin"
    (assemblies,) = (home / "shared" / "Microsoft.NETCore.App").iterdir()
    return home / "dotnet", assemblies


def build(
    files: Mapping[str, str], folder: Path, runtime: str = "mono", flags: Sequence[str] = STRICT
) -> list[str]:
    """Write exported files into a folder and compile their runner; return the command that starts it."""
    for tool in ("mcs", "mono"):
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed")
    for path, text in files.items():
        (folder / path).write_text(text, "utf-8")
    program = folder / "runner.exe"
    command = ["mcs", "-langversion:7.2", "-optimize+", *flags, f"-out:{program}", *files]
    started = ["mono", *(["-O=-float32"] if runtime == "mono-wide" else []), str(program)]
    if runtime == "coreclr":
        dotnet, assemblies = _coreclr()
        command += ["-nostdlib", "-noconfig", f"-lib:{assemblies}"]
        command += [f"-r:{name}.dll" for name in ASSEMBLIES]
        options = {
            "framework": {"name": "Microsoft.NETCore.App", "version": assemblies.name},
            "configProperties": {"System.Globalization.Invariant": True},
        }
        (folder / "runner.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}))
        started = [str(dotnet), "exec", str(program)]
    compiled = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert compiled.returncode == 0, (compiled.stdout + compiled.stderr)[:4000]
    return started


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
