"""`wirelock show`: protocols, fields, rules, source, and the map of the bytes in text and as SVG."""

import ast

import pytest

from protocol import PROTOCOLS
from tests.cli.command import run_all
from wirelock.layout.describe import describe

SHOWN = {
    "all": ("show",),
    "rotation": ("show", "rotation"),
    "rotation/v2": ("show", "rotation/v2"),
    "snapshot": ("show", "snapshot"),
    "snapshot/v1": ("show", "snapshot/v1"),
    "rotation/v1": ("show", "rotation/v1"),
    **{
        f"source of {name}": ("show", name, "--source")
        for name in ("rotation", "rotation/v1", "rotation/v2", "snapshot/v1", "snapshot/v2")
    },
    "said": ("show", "--protocols", "protocol:PROTOCOLS"),
}


@pytest.fixture(scope="module")
def shown():
    outcomes = run_all(SHOWN)
    for outcome in outcomes.values():
        assert (outcome.code, outcome.err) == (0, "")
    return {name: outcome.out for name, outcome in outcomes.items()}


def test_all_protocols_are_a_line_each(shown):
    assert shown["all"].splitlines() == [
        "rotation/v1  7 bytes  A unit quaternion without its largest component.",
        "rotation/v2  7 bytes  A unit quaternion without its largest component, with flags beside the index.",
        "snapshot/v1  9 bytes or more  All entities at one tick.",
        "snapshot/v2  9 bytes or more  All entities at one tick.",
    ]
    assert shown["said"] == shown["all"]


@pytest.mark.parametrize("name", ["rotation", "rotation/v2", "snapshot", "snapshot/v1"])
def test_a_protocol_shows_every_field_with_its_place(shown, name):
    protocol, version = PROTOCOLS.find(name)
    numbers = list(protocol.versions) if version is None else [version]
    sections = shown[name].split("digest ")
    assert len(sections) == 1 + len(numbers)
    for number, section, behind in zip(numbers, sections, sections[1:], strict=False):
        layout = protocol.layout(number)
        assert f"{protocol.name}/v{number}: {layout.name}, " in section
        assert behind.startswith(f"{protocol.digest(number)}\n\n")
        lines = iter(section.splitlines())
        for row in describe(layout):
            line = next(line for line in lines if line.split()[:1] == [row.name])
            assert f" {row.place} " in line
            assert f" {row.type} " in f"{line} "
            # Behind a long type the meaning stands on a line of its own.
            assert (next(lines) if row.doc and line.endswith(row.type) else line).endswith(row.doc)


def test_a_tag_and_rules_are_shown(shown):
    assert "\ntag magic, version\n" in shown["snapshot/v1"]
    assert "\ntag " not in shown["rotation"]
    rule = "rule reachable of RotationV2: no unit quaternion has these three components as its smallest"
    assert f"  {rule}\n    abs(a) * (abs(a) - 1) + " in shown["rotation/v2"]
    assert "rule reachable of RotationV1: " in shown["snapshot/v1"]


@pytest.mark.parametrize(
    ("name", "count"),
    [("rotation", 2), ("rotation/v1", 1), ("rotation/v2", 1), ("snapshot/v1", 1), ("snapshot/v2", 1)],
)
def test_source_is_python(shown, name, count):
    tree = ast.parse(shown[f"source of {name}"])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["parse_from", "build"] * count
    compile(shown[f"source of {name}"], name, "exec")


def test_show_one_protocol_is_all_of_its_versions(shown):
    both = shown["rotation"]
    assert both == shown["rotation/v1"] + shown["rotation/v2"]


def test_show_says_places_types_limits_and_meanings(shown):
    text = " ".join(shown["rotation/v2"].split())
    assert "flags byte 0 bits 7..2 " in text
    assert "largest_index byte 0 bits 1..0 " in text
    assert "a byte 1 int16 little-endian The first kept component" in text
