"""`wirelock init` and `new-version`: from nothing to released versions, with what a person types between."""

import subprocess
import sys

import pytest

from tests.cli.command import ENVIRONMENT, copy_project, done, refused, run, write

LOCK = "protocol/wirelock.lock"


def run_tests(project, *arguments):
    """Run the project's own tests; return the last line."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    made = subprocess.run(command, cwd=project, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
    lines = made.stdout.strip().splitlines()
    return made.returncode, lines[-1]


@pytest.mark.parametrize("name", ["game", "space-game-2"])
def test_a_new_project_passes_its_own_tests_at_once(tmp_path, name):
    out = done(run("init", name, cwd=tmp_path))
    project = tmp_path / name
    written = sorted(path.relative_to(tmp_path).as_posix() for path in project.rglob("*") if path.is_file())
    assert sorted(line.removeprefix("wrote ") for line in out.splitlines()[:-1]) == written
    assert out.splitlines()[-1].startswith(f"next: cd {name} && python -m pytest")
    code, line = run_tests(project)
    assert code == 0 and line.startswith("7 passed")
    assert done(run("show", cwd=project)) == f"{name}/v1  draft  9 bytes or more  All points at one tick.\n"


def test_the_flow_of_an_author(tmp_path):
    """init, release, new-version, an edit, a migration with a loss, goldens, release, retire."""
    done(run("init", "game", cwd=tmp_path))
    project = tmp_path / "game"
    out = done(run("release", "game/v1", cwd=project))
    assert out.startswith(
        "game v1: the first version\ngame v1: released, 9 bytes or more, 6 golden cases, sha256:"
    )
    out = done(run("new-version", "game", cwd=project))
    assert out.splitlines()[:3] == [
        "wrote protocol/game/v2.py", "changed protocol/game/__init__.py", "wrote protocol/game/migrations.py",
    ]  # fmt: skip
    assert "`wirelock release game/v2`" in out and "Migration(1, 2)" in out
    assert [line.split()[:2] for line in done(run("show", cwd=project)).splitlines()] == [
        ["game/v1", "released"], ["game/v2", "draft"],
    ]  # fmt: skip
    assert done(run("check", cwd=project)).endswith(": no drift\n")
    assert run_tests(project)[0] == 0

    # v2 gets a field of its own.
    layout = project / "protocol/game/v2.py"
    text = layout.read_text("utf-8")
    text = text.replace('"tick" / Int32ul,', '"tick" / Int32ul,\n        "speed" / Int8ul,')
    text = text.replace('    """The simulation step."""', '    """The simulation step."""\n    speed: int')
    write(layout, text)
    outcome = run("release", "game/v2", cwd=project)
    assert outcome.code == 1
    assert "  speed: field: was absent, now uint8 at byte 7\n" in outcome.out
    assert "game v2: there are no golden cases: " in outcome.out
    assert "not released" in outcome.line

    golden = (project / "fixtures/game/v1.json").read_text("utf-8")
    digest = done(run("show", "game/v2", cwd=project)).split("digest ")[1].split()[0]
    old_digest = golden.split('"digest": "')[1].split('"')[0]
    golden = golden.replace(old_digest, digest).replace(
        '"version": 1,\n  "digest"', '"version": 2,\n  "digest"'
    )
    golden = golden.replace('"bytes": "474101', '"bytes": "474102')
    golden = golden.replace('"version": 1,', '"version": 2,').replace(
        '"bytes": "47410200000000', '"bytes": "4741020000000005'
    )
    golden = golden.replace('"bytes": "47410207000000', '"bytes": "4741020700000005').replace(
        '"tick": 0,', '"tick": 0, "speed": 5,'
    )
    golden = (
        golden.replace('"tick": 7,', '"tick": 7, "speed": 5,')
        .replace('"byte": 11', '"byte": 12')
        .replace('"byte": 9', '"byte": 10')
    )
    write(project / "fixtures/game/v2.json", golden)
    outcome = run("release", "game/v2", cwd=project)
    assert outcome.code == 1
    assert "game v1 up to v2: GameV1(" in outcome.out and "speed" in outcome.out

    steps = project / "protocol/game/migrations.py"
    text = steps.read_text("utf-8")
    text = text.replace(
        'old.model_dump(exclude={"magic", "version"})',
        'old.model_dump(exclude={"magic", "version"}) | {"speed": 0}',
    )
    text = text.replace(
        'new.model_dump(exclude={"magic", "version"})',
        'new.model_dump(exclude={"magic", "version", "speed"})',
    )
    write(steps, text)
    outcome = run("release", "game/v2", cwd=project)
    assert outcome.code == 1
    assert "game v2 down to v1: speed of GameV2(" in outcome.out
    assert 'declare it: Lossy("speed")' in outcome.out
    assert run_tests(project)[0] == 1
    assert "fixtures/game/v2.json::[from v1]" in subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=project, env=ENVIRONMENT,
        capture_output=True, text=True,
    ).stdout  # fmt: skip
    text = text.replace("def v2_to_v1", '@Lossy("speed")\ndef v2_to_v1').replace(
        "import Migration", "import Lossy, Migration"
    )
    write(steps, text)
    assert run_tests(project)[0] == 0
    assert "would release game v2" in done(run("release", "game/v2", "--dry-run", cwd=project))
    assert "game v2: released" in done(run("release", "--all", cwd=project))
    assert done(run("release", "--all", cwd=project)) == "there is no draft: all versions are released\n"

    refused(run("retire", "game/v1", cwd=project), "still offered to peers", "retired=[1]")
    init = project / "protocol/game/__init__.py"
    write(
        init, init.read_text("utf-8").replace("migrations=MIGRATIONS", "migrations=MIGRATIONS, retired=[1]")
    )
    outcome = run("check", cwd=project)
    assert (outcome.code, outcome.out) == (1, "game v1: status: was released, now retired\n")
    assert done(run("retire", "game/v1", cwd=project)) == "game v1: retired\n"
    assert done(run("check", cwd=project)).endswith(": no drift\n")
    assert done(run("diff", LOCK, cwd=project)) == f"{LOCK}, the protocols as they are: no differences\n"
    assert done(run("show", cwd=project)).startswith("game/v1  retired  ")
    refused(run("retire", "game/v1", cwd=project), "game/v1 is retired already")
    refused(run("release", "game/v1", cwd=project), "game v1 is retired")
    # Once no recording needs it, its code may go; its number is never given again.
    write(init, init.read_text("utf-8").replace("retired=[1]", "retired=[]"))
    outcome = run("check", cwd=project)
    assert (outcome.code, outcome.out) == (1, "game v1: status: was retired, now released\n")
    text = init.read_text("utf-8").replace("{1: GameV1, 2: GameV2}", "{2: GameV2}")
    write(init, text.replace("migrations=MIGRATIONS, retired=[]", "migrations=()"))
    (project / "fixtures/game/v1.json").unlink()
    assert "no differences" in done(run("diff", LOCK, cwd=project))
    assert done(run("check", cwd=project)).endswith(": no drift\n")
    assert '"status": "retired"' in (project / "protocol/wirelock.lock").read_text("utf-8")


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["plain", "with a byte-order mark"])
def test_new_versions_of_this_project(tmp_path, mark):
    project = copy_project(tmp_path)
    for source in (project / "protocol").rglob("*.py"):
        source.write_text(mark + source.read_text("utf-8"), "utf-8")
    for name in ("rotation", "snapshot"):
        out = done(run("new-version", name, cwd=project))
        assert out.startswith(f"wrote protocol/{name}/v4.py\n")
        assert f"changed protocol/{name}/migrations.py" in out
    listed = done(run("show", cwd=project))
    assert "snapshot/v4  draft  " in listed and "rotation/v4  draft  " in listed
    assert done(run("check", cwd=project)).endswith(": no drift\n")


# name: (arguments, words of the refusal)
WRONG = {
    "no name": (("init",), "NAME"),
    "a bad name": (("init", "Game_1"), "is no name of a protocol"),
    "a protocol that there is not": (("new-version", "nope"), "no protocol 'nope'"),
    "a version": (("new-version", "rotation/v1"), "name the protocol alone"),
    "nothing to release": (("release",), "--all"),
    "both": (("release", "rotation/v1", "--all"), "--all"),
    "released": (("release", "rotation/v1"), "rotation v1 is released already"),
    "no version": (("release", "rotation"), "which version of rotation?"),
    "unknown": (("release", "rotation/v9"), "no version 'v9'"),
    "retire nothing": (("retire", "rotation/v9"), "is no released version"),
    "retire a number too long": (("retire", "rotation/v" + "9" * 5000), "is no released version"),
    "retire another spelling": (("retire", "rotation/v01"), "is no released version"),
    "no name at all": (("init", ""), "name the folder"),
    "retire all": (("retire", "rotation"), "is no released version"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_done_is_said_in_one_line(name):
    arguments, words = WRONG[name]
    refused(run(*arguments), words)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "game/protocol").mkdir(parents=True)
    write(tmp_path / "game/protocol/__init__.py", "mine")
    refused(run("init", "game", cwd=tmp_path), "is there already")
    assert [path.name for path in (tmp_path / "game").rglob("*") if path.is_file()] == ["__init__.py"]


# name: (file, old text, new text, words of the refusal)
ODD = {
    "a version file with another name": (
        "protocol/game/__init__.py",
        "from protocol.game.v1",
        "from protocol.game.one",
        "has no 1 in its name",
    ),
    "a class without a number": ("protocol/game/v1.py", "GameV1", "Game", "has no 1 at its end"),
    "a protocol made elsewhere": (
        "protocol/game/__init__.py",
        "{1: GameV1}",
        "dict([(1, GameV1)])",
        "no file beside v1.py says `1: GameV1`",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_a_project_of_another_shape_is_left_as_it_was(tmp_path, name):
    done(run("init", "game", cwd=tmp_path))
    project = tmp_path / "game"
    file, old, new, words = ODD[name]
    if "one" in new:
        (project / "protocol/game/v1.py").rename(project / "protocol/game/one.py")
    for path in (project / "protocol").rglob("*.py"):
        if path == project / file or old == "GameV1":
            write(path, path.read_text("utf-8").replace(old, new))
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    refused(run("new-version", "game", cwd=project), words, "copy the newest version by hand")
    assert {path: path.read_bytes() for path in project.rglob("*.py")} == before


def test_a_draft_that_does_not_load_is_taken_back(tmp_path):
    done(run("init", "game", cwd=tmp_path))
    project = tmp_path / "game"
    layout = project / "protocol/game/v1.py"
    write(layout, layout.read_text("utf-8") + "\n\nassert __name__.endswith('v1')\n")
    before = {path: path.read_bytes() for path in project.rglob("*.py")}
    refused(run("new-version", "game", cwd=project), "does not load with the draft")
    assert {path: path.read_bytes() for path in project.rglob("*.py")} == before


def test_what_is_written_has_no_lint(tmp_path):
    done(run("init", "game", cwd=tmp_path))
    done(run("new-version", "game", cwd=tmp_path / "game"))
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "D,E,F,I,UP", "."]
    ignored = ["--ignore", "D203,D213,E501"]
    made = subprocess.run([*command, *ignored], cwd=tmp_path / "game", capture_output=True, text=True)
    assert made.returncode == 0, made.stdout
