"""`wirelock explain`: classes that can be pasted, every obstacle at once, and names that lead nowhere."""

import re

import pytest

from tests.cli.command import ROOT, run, run_all

PAGE = (ROOT / "docs/explain.md").read_text("utf-8")
SCHEMA, SUGGESTION = re.findall(r"```python\n(.*?)```", PAGE, re.S)
(OBSTACLES,) = re.findall(r"```text\n(.*?)```", PAGE, re.S)

RECORDS = """
from wirelock import Record
from acme import PLAYER


class Holder:
    inner = PLAYER


class Player(Record, layout=PLAYER):
    id: int
    team: int


LIST = PLAYER[3]
"""
MODULES = {
    "acme": SCHEMA,
    "records": RECORDS,
    "broken": "1 / 0\n",
    "leaving": "raise SystemExit(0)\n",
    "missing": "import not_there_at_all\n",
    "refused": "from wirelock import Record\nclass Empty(Record, layout=3):\n    pass\n",
}
WRONG = {
    "no module": ("nope:X", "there is no module 'nope' in "),
    "no module inside": ("acme.nope:X", "there is no module 'acme.nope' in "),
    "no name": ("acme:NOPE", "acme has no NOPE"),
    "no dotted name": ("acme:STATE.nope", "acme has no STATE.nope"),
    "no construct": ("records:Holder", "Holder of records is no construct but a type"),
    "a record": (
        "records:Player",
        "Player of records is no construct but a ModelMetaclass: say records:Player.layout",
    ),
    "no colon": ("acme", "'acme' names no construct: write module:NAME (see wirelock explain --help)"),
    "no name behind the colon": ("acme:", "'acme:' names no construct"),
    "no module before it": (":STATE", "':STATE' names no construct"),
    "an expression": ("acme:STATE[0]", "'acme:STATE[0]' names no construct"),
    "a module that fails": ("broken:X", "broken does not import: ZeroDivisionError: division by zero"),
    "a module that leaves": ("leaving:X", "leaving does not import: SystemExit: 0"),
    "a module that lacks another": (
        "missing:X",
        "missing does not import: No module named 'not_",
    ),
    "a module with a record that is refused": ("refused:X", "Empty: 3 is no construct"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("explain")
    for name, text in MODULES.items():
        (made / f"{name}.py").write_text(text, "utf-8")
    return made


@pytest.fixture(scope="module")
def outcomes(folder):
    rows = {name: ("explain", what) for name, (what, _) in WRONG.items()}
    return run_all(rows, cwd=folder)


def test_the_page_shows_what_is_printed(folder):
    outcome = run("explain", "acme:STATE", cwd=folder)
    assert (outcome.code, outcome.out, outcome.err) == (0, SUGGESTION, "")


def test_what_is_printed_is_a_module(folder):
    (folder / "states.py").write_text(run("explain", "acme:STATE", cwd=folder).out, "utf-8")
    outcome = run("explain", "states:State.layout", cwd=folder)
    assert outcome.code == 0
    assert "class StateRecord(Record, layout=State.layout):" in outcome.out


def test_the_page_shows_every_obstacle(folder):
    outcome = run("explain", "acme:OLD", cwd=folder)
    assert (outcome.code, outcome.out, outcome.err) == (1, OBSTACLES, "")


def test_a_dotted_name(folder):
    outcome = run("explain", "records:Holder.inner", cwd=folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert "from records import Holder\n" in outcome.out
    assert "class Inner(Record, layout=Holder.inner):" in outcome.out


def test_what_is_no_struct_is_told_what_to_do(folder):
    outcome = run("explain", "records:LIST", cwd=folder)
    assert (outcome.code, outcome.err) == (1, "")
    assert outcome.out.splitlines() == [
        "LIST cannot be a Record yet: 1 obstacle",
        "",
        "  Array has no named fields",
        '    wrap it in a Struct, as in Struct("items" / ...)',
    ]


@pytest.mark.parametrize("name", WRONG)
def test_what_is_not_there_is_one_line(outcomes, name):
    assert outcomes[name].code == 2
    assert outcomes[name].line.startswith(WRONG[name][1])
    assert outcomes[name].out == ""


def test_help_names_the_command():
    assert "\n  explain " in run("--help").out
