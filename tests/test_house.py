"""The rooms and their walls: who may import whom, and where third-party libraries may be used."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import wirelock

SOURCE = Path(wirelock.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))

ROOMS = {
    "errors": set(),
    "quaternion": set(),
    "whole": {"signals"},
    "shown": set(),
    "signals": set(),
    "checksums": set(),
    "layout": {"checksums"},
    "codec": {"layout", "checksums"},
    "schema": {"layout", "codec"},
    "lock": {"layout", "schema", "whole"},
    "export": {"layout", "schema"},
    "golden": {"layout", "codec", "schema", "whole"},
    "capture": {"layout", "codec", "schema", "shown", "signals"},
    "scaffold": {"schema", "golden"},
    "evolve": {"shown", "checksums", "layout", "codec", "schema", "lock", "golden", "capture"},
    "cli": {"layout", "codec", "schema", "lock", "export", "golden", "capture", "evolve", "scaffold"}
    | {"quaternion", "shown", "signals", "whole"},
}
"""What each room may import besides errors and itself."""
ALSO = {"golden/plugin.py": {"lock"}}

FENCES = {
    "construct": (
        "the description of a layout is the only place where an author's construct is known",
        [
            "layout/walk.py",
            "layout/arrays.py",
            "layout/leaves.py",
            "layout/adapters.py",
            "layout/branches.py",
            "layout/sized.py",
            "layout/code.py",
            "layout/expression.py",
            "layout/calls.py",
            "layout/trace.py",
            "layout/agree.py",
            "codec/reference.py",
            "codec/reference_code.py",
            "codec/reference_kinds.py",
            "codec/reference_regions.py",
            "codec/reference_values.py",
            "capture/headers.py",
        ],
    ),
    "pydantic": ("engines and captures run without validation", ["schema/"]),
    "pydantic_core": ("engines and captures run without validation", ["schema/"]),
    "annotated_types": ("constraints are lowered into the layout", ["schema/"]),
    "backports": ("captures are unpacked in one place", ["capture/unpack.py"]),
    "compression": ("captures are unpacked in one place", ["capture/unpack.py"]),
    "numpy": (
        "the main job needs no numpy",
        [
            "quaternion/",
            "codec/columnar.py",
            "codec/table.py",
            "codec/arrow.py",
            "schema/columns.py",
        ],
    ),
    "numba": ("one record at a time needs no compiler", ["codec/compiled.py"]),
    "pyarrow": (
        "columns are numpy arrays until somebody asks for a table of Arrow",
        ["codec/arrow.py", "codec/arrow_types.py", "codec/table.py", "capture/arrow/"],
    ),
    "pytest": ("only the plugin runs under pytest", ["golden/plugin.py"]),
    "click": ("arguments are the command line's", ["cli/"]),
    "rich": ("progress is the command line's", ["cli/"]),
}
"""Third-party libraries: why they are fenced, and where they may be imported."""


def imports(file: Path) -> Iterator[tuple[int, str]]:
    """Yield each module that a file imports, wherever in it, with the line."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: imports are absolute"
            if node.module == "wirelock":
                yield from ((node.lineno, f"wirelock.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""


def place(file: Path) -> str:
    return file.relative_to(SOURCE).as_posix()


def room(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


@pytest.mark.parametrize("file", FILES, ids=place)
def test_rooms_import_only_what_they_may(file: Path) -> None:
    here = place(file)
    if here in ("__init__.py", "__main__.py"):
        return
    allowed = ROOMS[room(here)] | ALSO.get(here, set()) | {"errors", room(here), "__version__"}
    for line, module in imports(file):
        if module.startswith("wirelock"):
            other = module.split(".")[1]
            assert other in allowed, f"{here}:{line}: {room(here)} may not import {other}"


@pytest.mark.parametrize("file", FILES, ids=place)
def test_third_parties_stay_behind_their_fences(file: Path) -> None:
    here = place(file)
    for line, module in imports(file):
        top = module.split(".")[0]
        if top in sys.stdlib_module_names or top in ("wirelock", "__future__"):
            continue
        assert top in FENCES, f"{here}:{line}: {top} is no dependency"
        why, where = FENCES[top]
        assert any(here == path or (path.endswith("/") and here.startswith(path)) for path in where), (
            f"{here}:{line}: {top} may not be imported here: {why}"
        )


@pytest.mark.parametrize("file", [file for file in FILES if file.name != "__init__.py"], ids=place)
def test_files_open_with_their_contract_and_fit_one_sitting(file: Path) -> None:
    text = file.read_text("utf-8")
    assert len(ast.get_docstring(ast.parse(text)) or "") > 30, f"{place(file)} states no contract"
    assert len(text.splitlines()) <= 450, f"{place(file)} has outgrown one sitting"


def test_importing_wirelock_loads_nothing_heavy() -> None:
    code = "import sys, wirelock, wirelock.cli; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {"construct", "pydantic", "numpy", "rich"}.isdisjoint(run.stdout.split())


@pytest.mark.parametrize("job", ["decode", "stats"])
def test_the_main_jobs_need_no_numpy(tmp_path: Path, job: str) -> None:
    (tmp_path / "numpy.py").write_text("raise ImportError('numpy was imported')")
    root = SOURCE.parents[1]
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", job, "fixtures/captures/session.pcapng"],
        cwd=root, env={"PYTHONPATH": f"{tmp_path}:{root / 'src'}"}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


def test_public_names_are_those_listed() -> None:
    assert dir(wirelock) == sorted(wirelock.__all__)
    for name in wirelock.__all__:
        assert getattr(wirelock, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'parse'"):
        wirelock.parse  # noqa: B018
