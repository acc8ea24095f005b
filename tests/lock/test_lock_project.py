"""Drift, end to end: one edit of a copy of this project, then the commands that a user or CI runs.

The copy has one protocol more, `probe`, for what this project's own have not.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

PYPROJECT = """
[tool.wirelock]
protocols = "protocol:PROTOCOLS"
fixtures = "fixtures"
lock = "protocol/wirelock.lock"
"""

PROBE = '''
"""What the other protocols have not: padding, an enumeration, a Literal, a Switch, a condition."""

from enum import IntEnum
from typing import Annotated, Literal

from annotated_types import Ge, Le
from construct import Byte, Bytes, Enum, FormatField, If, Int16ul, Int24ul, Padding, Struct, Switch, this

from wirelock import Protocol, Record, Rule


class Kind(IntEnum):
    MOVE = 1
    FIRE = 2


class MoveV1(Record, layout=Struct("speed" / Int16ul)):
    speed: int


class FireV1(Record, layout=Struct("aim" / Bytes(2), "power" / Byte), rules=[Rule("armed", this.power > 0)]):
    aim: bytes
    power: int


class ProbeV1(
    Record,
    layout=Struct(
        "kind" / Enum(Byte, Kind),
        Padding(2),
        "mode" / Byte,
        "level" / FormatField("<", "h"),
        "body" / Switch(this.kind, {Kind.MOVE: MoveV1.layout, Kind.FIRE: FireV1.layout}),
        "extra" / If(this.mode > 1, Int24ul),
    ),
):
    kind: Kind
    mode: Literal[1, 2]
    level: Annotated[int, Ge(0), Le(100)]
    body: MoveV1 | FireV1
    extra: int | None


probe = Protocol("probe", {1: ProbeV1})
'''

MAKE_GOLDEN = """
import sys
from pathlib import Path
from protocol import PROTOCOLS
from wirelock.golden.run import make_case
from wirelock.golden.vectors import GoldenFile, golden_path, write

probe, version = PROTOCOLS["probe"], int(sys.argv[1])
cases = tuple(
    make_case(probe, version, bytes.fromhex(octets), id=name, comment="By hand.", source="hand")
    for name, octets in (("move", "01 00 00 01 05 00 07 00"), ("cut", "01 00 00 01"))
)
write(
    golden_path(Path("fixtures"), "probe", version),
    GoldenFile(protocol="probe", version=version, digest=probe.digest(version), flags={}, cases=cases),
)
"""

V1, V2, REACHABLE = "protocol/rotation/v1.py", "protocol/rotation/v2.py", "protocol/rotation/rules.py"
SNAPSHOT1, SNAPSHOTS = "protocol/snapshot/v1.py", "protocol/snapshot/__init__.py"
EXTRA, REGISTRY = "protocol/probe.py", "protocol/__init__.py"
GOLDEN = "fixtures/rotation/v1.json"
A, B = '        "a" / Int16sl,\n', '        "b" / Int16sl,\n'
FLAGS = '        "flags" / FlagsEnum(BitsInteger(6), PoseFlags),\n'
INDEX = '        "largest_index" / BitsInteger(2),\n'


def both(*lines: str) -> list[str]:
    """Return lines about rotation v1, and the same from inside of snapshot v1."""
    return [f"rotation v1: {line}" for line in lines] + [
        f"snapshot v1: entities[].rotation: {line}"
        if line.startswith("rule ")
        else f"snapshot v1: entities[].rotation.{line}"
        for line in lines
    ]


ROTATIONS = [f"rotation v{number}" for number in (1, 2, 3)]


@dataclass(frozen=True)
class Edit:
    """One edit, and each line that has to be printed."""

    file: str
    replaced: list[tuple[str, str]]
    printed: list[str]


DRIFT = {
    "two fields swapped": Edit(
        V1,
        [
            (A + B, B + A),
            ("    a: int\n", "    x: int\n"),
            ("    b: int\n", "    a: int\n"),
            ("    x: int\n", "    b: int\n"),
        ],
        both("a: position: was byte 1, now byte 3", "b: position: was byte 3, now byte 1"),
    ),
    "little to big": Edit(
        V1,
        [(A, '        "a" / Int16sb,\n'), ("Int16sl, Struct", "Int16sb, Int16sl, Struct")],
        both("a: byte order: was little, now big"),
    ),
    "< to >": Edit(EXTRA, [('"<"', '">"')], ["probe v1: level: byte order: was little, now big"]),
    "a width": Edit(
        SNAPSHOT1,
        [('"tick" / Int32ul', '"tick" / Int16ul')],
        [
            "snapshot v1: tick: width: was 32 bits, now 16 bits",
            "snapshot v1: count: position: was byte 7, now byte 5",
            "snapshot v1: entities: position: was byte 9, now byte 7",
        ],
    ),
    "a bit order": Edit(
        V2,
        [
            (FLAGS + INDEX, INDEX + FLAGS),
            ("    flags: PoseFlags\n", "    x: PoseFlags\n"),
            ("    largest_index: int\n", "    flags: PoseFlags\n"),
            ("    x: PoseFlags\n", "    largest_index: int\n"),
        ],
        [
            f"{place}{line}"
            for place in ("rotation v2: ", "snapshot v2: entities[].rotation.")
            for line in (
                "flags: bit order: was byte 0 bits 7..2, now byte 0 bits 5..0",
                "largest_index: bit order: was byte 0 bits 1..0, now byte 0 bits 7..6",
            )
        ],
    ),
    "signedness": Edit(
        V1,
        [
            (B, '        "b" / Int16ul,\n'),
            ("Int16sl, Struct", "Int16sl, Int16ul, Struct"),
            ("    pose=SmallestThree(),\n", ""),
        ],
        both("b: sign: was signed, now unsigned"),
    ),
    "a constant": Edit(
        SNAPSHOT1,
        [('MAGIC = b"WS"', 'MAGIC = b"WT"')],
        [
            "snapshot v1: magic: constant: was 57 53, now 57 54",
            "snapshot v2: magic: constant: was 57 53, now 57 54",
            "snapshot v3: magic: constant: was 57 53, now 57 54",
        ],
    ),
    "a flag": Edit(
        V2,
        [("GROUNDED = 2", "GROUNDED = 4"), ("CROUCHING = 4", "CROUCHING = 2")],
        [
            f"{place}flags: member: was {name} = {was}, now {name} = {now}"
            for place in (
                "rotation v2: ",
                "snapshot v1: entities[].",
                "snapshot v2: entities[].rotation.",
                "snapshot v3: entities[].",
            )
            for name, was, now in (("GROUNDED", 2, 4), ("CROUCHING", 4, 2))
        ],
    ),
    "an enum member": Edit(
        EXTRA,
        [("    FIRE = 2\n", "    FIRE = 2\n    JUMP = 3\n")],
        ["probe v1: kind: member: was absent, now JUMP = 3"],
    ),
    "a rule loosened": Edit(
        REACHABLE,
        [("_reachable(REACHABLE_LIMIT)", "_reachable(REACHABLE_LIMIT + 1)")],
        [
            f"{place}: rule reachable: was ... <= 2147354626, now ... <= 2147354627"
            for place in (
                "rotation v1",
                "rotation v2",
                "snapshot v1: entities[].rotation",
                "snapshot v2: entities[].rotation",
            )
        ],
    ),
    "a nested record's field": Edit(
        SNAPSHOT1,
        [('"y" / Float32l', '"y" / Float32b'), ("Float32l, Int8ul", "Float32b, Float32l, Int8ul")],
        [
            "snapshot v1: entities[].position.y: byte order: was little, now big",
            "snapshot v2: entities[].position.y: byte order: was little, now big",
            "snapshot v3: entities[].position.y: byte order: was little, now big",
        ],
    ),
    "a released layout that no longer loads": Edit(
        V1,
        [("    c: int\n", "    sea: int\n")],
        [
            f"{version}: layout: was released, now does not load:"
            " RotationV1.c: the layout has c, the record has not; the record has sea, the layout has not;"
            " annotate every field of the layout"
            for version in ("probe v1", *ROTATIONS, *(f"snapshot v{number}" for number in (1, 2, 3)))
        ],
    ),
    "a limit loosened": Edit(V1, [("Le(3)]", "Le(4)]")], both("largest_index: limit: was <= 3, now <= 4")),
    "a limit tightened": Edit(EXTRA, [("Ge(0)", "Ge(1)")], ["probe v1: level: limit: was >= 0, now >= 1"]),
    "a limit removed": Edit(
        SNAPSHOT1,
        [("Metres = Annotated[float, Ge(-8192.0), Le(8192.0)]", "Metres = Annotated[float, Le(8192.0)]")],
        [
            f"snapshot v{version}: entities[].position.{axis}: limit: was >= -8192.0, now absent"
            for version in (1, 2, 3)
            for axis in "xyz"
        ],
    ),
    "a Literal": Edit(
        EXTRA,
        [("Literal[1, 2]", "Literal[1, 2, 3]")],
        ["probe v1: mode: limit: was one of (1, 2), now one of (1, 2, 3)"],
    ),
    "a field renamed": Edit(
        EXTRA,
        [('"aim" / Bytes', '"direction" / Bytes'), ("    aim: bytes", "    direction: bytes")],
        ["probe v1: body{2}.aim: name: was aim, now direction"],
    ),
    "a field removed at the tail": Edit(
        EXTRA,
        [('        "extra" / If(this.mode > 1, Int24ul),\n', ""), ("    extra: int | None\n", "")],
        ["probe v1: extra: field: was uint24 little-endian if mode > 1 at after body, byte 0, now absent"],
    ),
    "a condition": Edit(
        EXTRA,
        [("this.mode > 1", "this.mode > 0")],
        ["probe v1: extra: condition: was mode > 1, now mode > 0"],
    ),
    "padding": Edit(
        EXTRA,
        [("Padding(2)", 'Padding(2, pattern=b"\\xff")')],
        ["probe v1: padding#1: pattern: was 0x0, now 0xff"],
    ),
    "a case": Edit(
        EXTRA,
        [('"speed" / Int16ul', '"speed" / Int24ul')],
        [
            "probe v1: body{1}.speed: width: was 16 bits, now 24 bits",
            "probe v1: extra: position: was after body, byte 0, now byte 9",
        ],
    ),
    "a case taken away": Edit(
        EXTRA,
        [(", Kind.FIRE: FireV1.layout", ""), ("MoveV1 | FireV1\n", "MoveV1\n")],
        [
            "probe v1: body{2}: case: was FireV1, now absent",
            "probe v1: extra: position: was after body, byte 0, now byte 8",
        ],
    ),
    "a rule of a case": Edit(
        EXTRA,
        [("this.power > 0", "this.power >= 0")],
        ["probe v1: body{2}: rule armed: was power > 0, now power >= 0"],
    ),
    "the tag": Edit(
        SNAPSHOTS,
        [('    tag=("magic", "version"),\n', "")],
        [f"snapshot v{version}: tag: was (magic, version), now absent" for version in (1, 2, 3)],
    ),
    "a version taken away": Edit(
        SNAPSHOTS,
        [("1: SnapshotV1, ", ""), ("migrations=MIGRATIONS", "migrations=MIGRATIONS[1:]")],
        ["snapshot v1: version: was released, now absent"],
    ),
    "a protocol taken away": Edit(
        REGISTRY,
        [("Registry(rotation, snapshot, probe)", "Registry(rotation, probe)")],
        [f"snapshot v{version}: protocol: was released, now absent" for version in (1, 2, 3)],
    ),
}  # fmt: skip

FREE = {
    "nothing": Edit(V1, [], []),
    "a class renamed": Edit(EXTRA, [("MoveV1", "WalkV1")], []),
    "documentation": Edit(V1, [("Which of x, y, z, w is left out", "The one left out")], []),
    "a rule's message": Edit(REACHABLE, [("no unit quaternion has", "nothing has")], []),
    "another way to write a limit": Edit(V1, [("Le(3)]", "Lt(4)]"), ("import Le", "import Lt")], []),
}


class Copy:
    """A copy of the project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.lock = root / "protocol/wirelock.lock"

    def copy(self, target: Path) -> Copy:
        shutil.copytree(self.root, target)
        return Copy(target)

    def edit(self, edit: Edit) -> None:
        path = self.root / edit.file
        text = path.read_text("utf-8")
        for old, new in edit.replaced:
            assert old in text, f"{edit.file} has no {old!r}"
            text = text.replace(old, new)
        path.write_text(text, "utf-8")

    def golden(self, change: Any, file: str = GOLDEN) -> None:
        """Change a golden file as JSON."""
        path = self.root / file
        found = json.loads(path.read_text("utf-8"))
        change(found)
        path.write_text(json.dumps(found, indent=4), "utf-8")

    def run(self, *arguments: str) -> tuple[int, list[str], list[str]]:
        """Run `python -m` in the copy. Returns the exit code and the lines of output and errors."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
        environment |= {"PYTHONPATH": str(ROOT / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-m", *arguments],
            cwd=self.root,
            env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert "Traceback" not in done.stdout + done.stderr, done.stderr
        return done.returncode, done.stdout.splitlines(), done.stderr.splitlines()

    def check(self) -> tuple[int, list[str]]:
        code, out, err = self.run("wirelock", "check")
        assert err == []
        return code, out

    def pytest(self, *arguments: str) -> tuple[int, str, dict[str, str]]:
        """Run the lock's tests. Returns the exit code, the output and the outcome of each test."""
        plugins = "-p", "wirelock.golden.plugin", "-p", "no:cacheprovider"
        code, out, _ = self.run("pytest", *plugins, "-v", *arguments)
        outcomes = {}
        for line in out:
            name, _, outcome = line.partition(" ")
            if name.startswith("protocol/wirelock.lock::") and outcome:
                outcomes[name.partition("::")[2]] = outcome.split()[0]
        return code, "\n".join(out), outcomes


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    """The project with the probe, all of it released."""
    project = Copy(tmp_path_factory.mktemp("released") / "project")
    for folder in ("protocol", "fixtures"):
        shutil.copytree(ROOT / folder, project.root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (project.root / "pyproject.toml").write_text(PYPROJECT)
    (project.root / EXTRA).write_text(PROBE)
    registered = [("import snapshot\n", "import snapshot\nfrom protocol.probe import probe\n")]
    project.edit(Edit(REGISTRY, [*registered, ("(rotation, snapshot)", "(rotation, snapshot, probe)")], []))
    make_golden(project, 1)
    code, out, err = project.run("wirelock", "release", "probe/v1")
    assert (code, err) == (0, [])
    assert out[0] == "probe v1: the first version" and out[1].startswith("probe v1: released, ")
    assert out[2:] == [f"{project.lock}: 7 released versions"]
    return project


def make_golden(project: Copy, version: int) -> None:
    """Write golden cases of the probe, made by its own code."""
    done = subprocess.run(
        [sys.executable, "-c", MAKE_GOLDEN, str(version)],
        cwd=project.root, env=os.environ | {"PYTHONPATH": f"{ROOT / 'src'}:{project.root}"},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.fixture
def project(released: Copy, tmp_path: Path) -> Copy:
    return released.copy(tmp_path / "project")


def assert_drift(project: Copy, printed: list[str]) -> None:
    """Hold check, the plugin and lock to what has to be printed."""
    before = project.lock.read_bytes()
    with ThreadPoolExecutor() as pool:
        checked = pool.submit(project.check)
        tested = pool.submit(project.pytest, "protocol/wirelock.lock")
        locked = pool.submit(project.run, "wirelock", "lock")
    assert checked.result() == (1, printed)
    code, out, outcomes = tested.result()
    drifted = {line.partition(":")[0].replace(" ", "/") for line in printed}
    assert code == 1
    assert {name for name, outcome in outcomes.items() if outcome != "PASSED"} == drifted
    # Where the protocols do not load, pytest may stumble over their package before the lock's tests run.
    assert all(line.rpartition("does not load: ")[2] in out for line in printed)
    code, _, err = locked.result()
    assert code != 0 and len(err) == 1
    assert project.lock.read_bytes() == before
    assert sorted(path.name for path in project.lock.parent.glob("wirelock.lock*")) == ["wirelock.lock"]


@pytest.mark.parametrize("name", DRIFT)
def test_an_edit_of_a_released_layout_is_drift(project: Copy, name: str) -> None:
    edit = DRIFT[name]
    project.edit(edit)
    assert_drift(project, edit.printed)


@pytest.mark.parametrize("name", FREE)
def test_an_edit_of_nothing_that_peers_see_is_none(project: Copy, name: str) -> None:
    project.edit(FREE[name])
    assert project.check() == (0, [f"{project.lock}: no drift"])
    code, _, outcomes = project.pytest("protocol/wirelock.lock")
    assert code == 0
    assert set(outcomes.values()) == {"PASSED"} and len(outcomes) == 7


def test_the_lock_of_this_project_is_up_to_date() -> None:
    code, out, err = Copy(ROOT).run("wirelock", "check")
    assert (code, out, err) == (0, [f"{ROOT / 'protocol/wirelock.lock'}: no drift"], [])


# -- golden cases


def hash_in_lock(project: Copy, case: str) -> str:
    found = json.loads(project.lock.read_text("utf-8"))
    return found["protocols"]["rotation"]["v1"]["golden"][case]  # type: ignore[no-any-return]


def test_a_golden_byte_changed(project: Copy) -> None:
    def change(found: Any) -> None:
        case = next(case for case in found["cases"] if case["id"] == "article-fixed-sample")
        case["bytes"] = "0215c08624bded"

    project.golden(change)
    was = hash_in_lock(project, "article-fixed-sample")
    code, out = project.check()
    (line,) = out
    assert code == 1
    assert line.startswith(f"rotation v1: golden case article-fixed-sample: hash: was {was}, now sha256:")
    assert_drift(project, out)


@pytest.mark.parametrize("part", ["cases", "poses"])
def test_a_golden_case_deleted(project: Copy, part: str) -> None:
    gone: list[str] = []
    project.golden(lambda found: gone.append(found[part].pop(1)["id"]))
    was = hash_in_lock(project, gone[0])
    assert_drift(project, [f"rotation v1: golden case {gone[0]}: hash: was {was}, now absent"])


def test_a_golden_case_renamed(project: Copy) -> None:
    project.golden(lambda found: found["cases"][0].update(id="another-name"))
    code, out = project.check()
    assert code == 1 and len(out) == 1 and out[0].endswith(", now absent")


def test_a_golden_file_deleted(project: Copy) -> None:
    cases = len(json.loads(project.lock.read_text("utf-8"))["protocols"]["rotation"]["v1"]["golden"])
    (project.root / GOLDEN).unlink()
    assert_drift(project, [f"rotation v1: golden cases: was {cases}, now absent"])


def test_a_golden_case_may_be_added_and_is_kept_from_then_on(project: Copy) -> None:
    def add(found: Any) -> None:
        case = dict(found["cases"][0]) | {"id": "one-more"}
        found["cases"].append(case)
        found["cases"][0]["comment"] = "Another comment."

    project.golden(add)
    assert project.check() == (0, [f"{project.lock}: no drift"])
    code, out, err = project.run("wirelock", "lock")
    assert (code, err) == (0, [])
    assert out == [
        "rotation v1: 1 golden case added: one-more",
        f"{project.lock}: 7 released versions",
    ]
    was = hash_in_lock(project, "one-more")
    project.golden(lambda found: found["cases"].pop())
    assert_drift(project, [f"rotation v1: golden case one-more: hash: was {was}, now absent"])


# -- releasing


def test_a_new_version_is_free_until_it_is_released(project: Copy) -> None:
    path = project.root / EXTRA
    text, _, end = path.read_text("utf-8").partition("probe = Protocol")
    new = text[text.index("class ProbeV1") :].replace("ProbeV1", "ProbeV2")
    end = end.replace("{1: ProbeV1}", "{1: ProbeV1, 2: ProbeV2}")
    path.write_text(f"{text}{new}probe = Protocol{end}", "utf-8")
    assert project.check()[0] == 0
    before = project.lock.read_text("utf-8").splitlines()
    assert "probe v2: draft; `wirelock release probe/v2` releases it" in project.run("wirelock", "lock")[1]
    assert project.lock.read_text("utf-8").splitlines() == before
    make_golden(project, 2)
    code, out, _ = project.run("wirelock", "release", "probe/v2")
    assert code == 0
    assert out[0] == "probe v2, against v1:"
    assert out[1].startswith("probe v2: released, ") and out[2].endswith(": 8 released versions")
    after = project.lock.read_text("utf-8").splitlines()
    # But for the comma behind what was last, a release only adds lines.
    lines = iter(line.rstrip(",") for line in after)
    assert all(line.rstrip(",") in lines for line in before)
    assert project.run("wirelock", "lock")[1][0] == "nothing to add"
    assert project.lock.read_text("utf-8").splitlines() == after
    head, middle, tail = path.read_text("utf-8").rpartition('"mode" / Byte')
    path.write_text(f'{head}"mode" / Int16ul{tail}', "utf-8")
    assert middle
    code, out = project.check()
    assert code == 1
    assert out[0] == "probe v2: mode: width: was uint8, now uint16 little-endian"


def test_protocols_that_do_not_even_import(project: Copy) -> None:
    (project.root / V1).write_text("this is no Python")
    code, out = project.check()
    assert code == 1
    assert len(out) == 7
    start = "rotation v1: layout: was released, now does not load: protocol does not import: SyntaxError: "
    assert out[1].startswith(start)
    code, text, outcomes = project.pytest("protocol/wirelock.lock")
    assert code == 1 and len(outcomes) == 7 and "PASSED" not in outcomes.values() and "SyntaxError" in text


def test_a_lock_edited_by_hand_is_refused(project: Copy) -> None:
    text = project.lock.read_text("utf-8")
    project.lock.write_text(text.replace('"limits": {"le": 3}', '"limits": {"le": 7}'), "utf-8")
    project.edit(Edit(V1, [("Le(3)]", "Le(7)]")], []))
    told = f"{project.lock}: rotation v1: the layout and its digest do not belong together: one was edited"
    for command in ("check", "lock"):
        assert project.run("wirelock", command) == (2, [], [f"wirelock: {told}"])
    code, out, _ = project.pytest("protocol/wirelock.lock")
    assert code == 1 and told in out


def test_without_a_lock_check_fails(project: Copy) -> None:
    project.lock.unlink()
    code, out, err = project.run("wirelock", "check")
    assert (code, out) == (2, []) and "wirelock release" in err[0]


def test_a_run_of_the_whole_project_has_the_lock_in_it(project: Copy) -> None:
    project.edit(DRIFT["< to >"])
    code, _, outcomes = project.pytest()
    assert code == 1 and outcomes["probe/v1"] == "FAILED" and outcomes["rotation/v1"] == "PASSED"


# -- docs/lock.md


PAGE = (ROOT / "docs/lock.md").read_text("utf-8")


def test_the_page_shows_lines_of_the_lock() -> None:
    (excerpt,) = re.findall(r"```json\n(.*?)```", PAGE, re.S)
    lock = iter((ROOT / "protocol/wirelock.lock").read_text("utf-8").splitlines())
    for line in excerpt.splitlines():
        start = line.partition("…")[0].rstrip()
        assert any(found.startswith(start) for found in lock), line


def test_the_page_shows_what_the_commands_print(project: Copy) -> None:
    shown = [part.splitlines() for part in re.findall(r"^ *\$ (.*?)(?=^ *[$`])", PAGE, re.M | re.S)]
    drift, refused, released, retired = ([line.strip() for line in lines] for lines in shown)
    registered = ("(rotation, snapshot, probe)", "(rotation, snapshot)")
    project.edit(Edit(REGISTRY, [registered], []))
    project.lock.unlink()
    _, out, _ = project.run(*released[0].split())

    def without_counts(line: str) -> str:
        return re.sub(r"^/.*/project|^/home/me/game|\d+ golden cases", "", line.strip())

    assert list(map(without_counts, out)) == list(map(without_counts, released[1:]))
    assert project.run(*retired[0].split())[2] == retired[1:]
    project.edit(DRIFT["little to big"])
    assert project.check() == (1, drift[1:])
    code, out, err = project.run("wirelock", "lock")
    assert (code, [*out, *err]) == (1, refused[1:])
    assert (drift[0], refused[0]) == ("wirelock check", "wirelock lock")


def test_the_python_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
