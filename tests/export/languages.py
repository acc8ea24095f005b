"""What makes exported code run in tests: a table of the ways to compile and start it, asked all alike.

A way is a language, its compiler and what it runs on. The program that comes with a codec takes `golden` and
files, or `lines` and a request a line. What was compiled once is not compiled again. A warning is an error; a
tool that is missing fails under CI, and skips elsewhere.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest

from wirelock.export import Target

Files = Mapping[str, str]


def missing(reason: str) -> NoReturn:
    """Fail under CI, skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def needs(*tools: str) -> None:
    """Go on only where these programs are installed."""
    for tool in tools:
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed")


def run(command: Sequence[str | Path], folder: Path | None = None) -> str:
    """Return what a program writes. Its complaints fail the test."""
    found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert found.returncode == 0, (found.stdout + found.stderr)[:4000]
    return found.stdout


def ask(command: Sequence[str], requests: Iterable[str]) -> list[str]:
    """Return the answer of a test program to each request, of one run."""
    lines = [*requests]
    found = subprocess.run(
        [*command, "lines"], input="".join(f"{line}\n" for line in lines), capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr[:4000]
    answers = found.stdout.split("\n")[:-1]  # text may hold other ends of lines
    assert len(answers) == len(lines), found.stderr[:4000]
    return answers


def written(files: Files, folder: Path) -> Path:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    return folder


def golden(command: Sequence[str], *paths: Path) -> tuple[int, list[str], str]:
    """Run golden files: return the exit code, the lines of TAP, and what was complained of."""
    found = subprocess.run([*command, "golden", *map(str, paths)], capture_output=True, text=True)
    return found.returncode, found.stdout.splitlines(), found.stderr


def refused(fault: Any) -> str:
    """Return the answer for a fault."""
    places = ("-" if place is None else str(place) for place in (fault.byte, fault.bit))
    return " ".join(["fault", fault.code, *places, fault.path or "-"])


_compiled: dict[tuple[Any, ...], Path] = {}


@dataclass(frozen=True)
class Way:
    """How code of a language runs: what compiles files, and what starts the program that it makes of them."""

    target: Target
    compile: Callable[[Files, Path], Path]
    start: tuple[str, ...] = ()

    def runner(self, files: Files, folder: Path) -> list[str]:
        """Compile files, in a folder that stays, and return the command that starts their program."""
        key = (self.compile, frozenset(files.items()))
        if key not in _compiled:
            _compiled[key] = self.compile(files, folder)
        start = (str(_coreclr()[0]), "exec") if self.start == ("dotnet",) else self.start
        return [*start, str(_compiled[key])]


# -- C and C++

WARNINGS: Final = (
    "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wsign-conversion", "-Wdouble-promotion",
    "-Wshadow",
)  # fmt: skip
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


def compile_c(files: Files, folder: Path, compiler: str = "gcc", flags: Sequence[str] = CHECKED) -> Path:
    """Return the program that a compiler makes of the one file that ends with _test.c."""
    command = COMPILERS[compiler]
    needs(command[0])
    (source,) = (path for path in written(files, folder).iterdir() if path.name.endswith("_test.c"))
    run([*command, *WARNINGS, *flags, source, "-o", folder / "runner", "-lm"], folder)
    return folder / "runner"


# -- C#: Mono's mcs at 7.2, its latest language level; what 7.2 takes 7.3 takes too

STRICT: Final = ("-warn:4", "-warnaserror", "-checked+")
"""Warnings are errors, and so is arithmetic that overflows where the code does not say that it may."""
ASSEMBLIES: Final = (
    "System.Private.CoreLib", "System.Runtime", "System.Runtime.Extensions", "System.Console",
    "System.Memory", "System.Collections", "System.IO.FileSystem", "System.Net.Sockets",
    "System.Net.Primitives",
)  # fmt: skip
"""Of CoreCLR, what the runner and the clients of tests use."""


@functools.cache
def _coreclr() -> tuple[Path, Path]:
    """Return the program of CoreCLR, from PyPI's dotnetcore2, and the folder of its assemblies."""
    found = importlib.util.find_spec("dotnetcore2")
    if found is None or found.origin is None:
        missing("dotnetcore2 is not installed")
    home = Path(found.origin).parent / "bin"
    (assemblies,) = (home / "shared" / "Microsoft.NETCore.App").iterdir()
    return home / "dotnet", assemblies


def compile_csharp(files: Files, folder: Path, flags: Sequence[str] = STRICT) -> Path:
    """Return the assembly that mcs makes of all files, for Mono."""
    needs("mcs", "mono")
    program = written(files, folder) / "runner.exe"
    run(["mcs", "-langversion:7.2", "-optimize+", *flags, f"-out:{program}", *files], folder)
    return program


def compile_coreclr(files: Files, folder: Path) -> Path:
    """Return the assembly that mcs makes of all files, for CoreCLR."""
    _, assemblies = _coreclr()
    options = {
        "framework": {"name": "Microsoft.NETCore.App", "version": assemblies.name},
        "configProperties": {"System.Globalization.Invariant": True},
    }
    (folder / "runner.runtimeconfig.json").write_text(json.dumps({"runtimeOptions": options}))
    references = (f"-r:{name}.dll" for name in ASSEMBLIES)
    flags = (*STRICT, "-nostdlib", "-noconfig", f"-lib:{assemblies}", *references)
    return compile_csharp(files, folder, flags)


# -- TypeScript: compilers from npm, installed once into the user's cache

PACKAGES: Final = {
    "typescript-5": ["typescript@5.9.3", "@types/node@20.19.0"],
    "typescript-7": ["typescript@7.0.2", "@types/node@20.19.0"],
    "style": [
        "prettier@3.6.2", "eslint@9.37.0", "@eslint/js@9.37.0", "typescript-eslint@8.46.0",
        "typescript@5.9.3",
    ],
}  # fmt: skip
"""Installed together: the oldest compiler that the code is for, the current one, and judges of style."""
OPTIONS: Final = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True,
    "verbatimModuleSyntax": True, "isolatedModules": True, "erasableSyntaxOnly": True,
    "noImplicitOverride": True, "noImplicitReturns": True, "noFallthroughCasesInSwitch": True,
    "noPropertyAccessFromIndexSignature": True, "noUnusedLocals": True, "noUnusedParameters": True,
    "skipLibCheck": True, "target": "es2022", "lib": ["es2022"], "module": "nodenext", "types": ["node"],
}  # fmt: skip
"""The strictest that projects use."""


@functools.cache
def installed(name: str) -> Path:
    """Return the folder of a set of packages, from the cache or the registry."""
    needs("node", "npm")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wirelock-tests"
    wanted = PACKAGES[name]
    folder = cache / "-".join([name, *(item.rpartition("@")[2] for item in wanted)])
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted]
        found = subprocess.run(command, capture_output=True, text=True)
        if found.returncode:
            missing(f"npm cannot install {' '.join(wanted)}: {found.stderr[-500:]}")
        (folder / "complete").touch()
    return folder


def compile_typescript(files: Files, folder: Path, major: str = "5") -> Path:
    """Return what the compiler makes of the test program, or else of the last of the files."""
    packages = installed(f"typescript-{major}") / "node_modules"
    written(files, folder / "src")
    (folder / "package.json").write_text('{"type": "module"}\n')
    options = {**OPTIONS, "rootDir": "src", "outDir": "js", "typeRoots": [str(packages / "@types")]}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["src"]}))
    run([packages / ".bin" / "tsc", "-p", folder])
    main = next((path for path in files if path.endswith(".golden.ts")), [*files][-1])
    return folder / "js" / main.replace(".ts", ".js")


# -- the table


def _c(compiler: str, flags: Sequence[str]) -> Way:
    return Way("c", functools.partial(compile_c, compiler=compiler, flags=flags))


WAYS: Final = {
    "gcc": _c("gcc", CHECKED),
    "gcc-fastest": _c("gcc", FASTEST),
    **({"gcc-x87": _c("gcc", EXCESS)} if platform.machine() in ("x86_64", "AMD64") else {}),
    "clang": _c("clang", CHECKED),
    "clang-fastest": _c("clang", FASTEST),
    "mono": Way("csharp", compile_csharp, ("mono",)),
    "mono-wide": Way("csharp", compile_csharp, ("mono", "-O=-float32")),
    "coreclr": Way("csharp", compile_coreclr, ("dotnet",)),
    "node": Way("typescript", compile_typescript, ("node",)),
}
"""mono-wide computes with floats in binary64 wherever the code does not say otherwise, as ECMA-335 allows."""
CPLUSPLUS: Final = {name: _c(name, CHECKED) for name in ("g++", "clang++")}
"""The same header and program in the other language."""
SHARP: Final = [name for name, way in WAYS.items() if way.target == "csharp"]
