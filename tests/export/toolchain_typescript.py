"""TypeScript and Node for the tests: a pinned compiler from npm, and what it makes of exported modules.

The packages are installed once, into the user's cache. A tool that is missing fails under CI, and skips
elsewhere.
"""

from __future__ import annotations

import functools
import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

PACKAGES = {
    "typescript-5": ["typescript@5.9.3", "@types/node@20.19.0"],
    "typescript-7": ["typescript@7.0.2", "@types/node@20.19.0"],
    "style": [
        "prettier@3.6.2", "eslint@9.37.0", "@eslint/js@9.37.0", "typescript-eslint@8.46.0",
        "typescript@5.9.3",
    ],
}  # fmt: skip
"""Installed together: the oldest compiler that the code is for, the current one, and judges of style."""
OPTIONS = {
    "strict": True, "exactOptionalPropertyTypes": True, "noUncheckedIndexedAccess": True,
    "verbatimModuleSyntax": True, "isolatedModules": True, "erasableSyntaxOnly": True,
    "noImplicitOverride": True, "noImplicitReturns": True, "noFallthroughCasesInSwitch": True,
    "noPropertyAccessFromIndexSignature": True, "noUnusedLocals": True, "noUnusedParameters": True,
    "skipLibCheck": True, "target": "es2022", "lib": ["es2022"], "module": "nodenext", "types": ["node"],
}  # fmt: skip
"""The strictest that projects use."""


def missing(reason: str) -> None:
    """Fail under CI, skip elsewhere."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@functools.cache
def installed(name: str) -> Path:
    """Return the folder of a set of packages, from the cache or the registry."""
    for tool in ("node", "npm"):
        if shutil.which(tool) is None:
            missing(f"{tool} is not installed")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "wirelock-tests"
    wanted = PACKAGES[name]
    folder = cache / "-".join([name, *(item.rpartition("@")[2] for item in wanted)])
    if not (folder / "complete").exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted]
        run = subprocess.run(command, capture_output=True, text=True)
        if run.returncode:
            missing(f"npm cannot install {' '.join(wanted)}: {run.stderr[-500:]}")
        (folder / "complete").touch()
    return folder


def written(files: Mapping[str, str], folder: Path) -> Path:
    """Write exported modules into a folder, as a package of ES modules."""
    for path, text in files.items():
        place = folder / "src" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    (folder / "package.json").write_text('{"type": "module"}\n')
    return folder


def compiled(files: Mapping[str, str], folder: Path, major: str = "5") -> Path:
    """Return the folder of JavaScript that the compiler makes of modules. Its complaints fail the test."""
    packages = installed(f"typescript-{major}") / "node_modules"
    written(files, folder)
    options = {**OPTIONS, "rootDir": "src", "outDir": "js", "typeRoots": [str(packages / "@types")]}
    (folder / "tsconfig.json").write_text(json.dumps({"compilerOptions": options, "include": ["src"]}))
    run = subprocess.run([str(packages / ".bin" / "tsc"), "-p", str(folder)], capture_output=True, text=True)
    assert not run.returncode, run.stdout[:4000]
    return folder / "js"


def runner(files: Mapping[str, str], folder: Path, name: str = "protocols") -> list[str]:
    """Return the command that starts the test program of exported modules."""
    node = shutil.which("node")
    js = compiled(files, folder)
    assert node is not None
    return [node, str(js / f"{name}.golden.js")]


def answers(command: Sequence[str], requests: Sequence[str]) -> list[str]:
    """Return the answer to each request, of one run."""
    run = subprocess.run(
        [*command, "lines"], input="".join(f"{item}\n" for item in requests), capture_output=True, text=True
    )
    assert not run.returncode, run.stderr[-2000:]
    return run.stdout.removesuffix("\n").split("\n")  # text may hold other ends of lines
