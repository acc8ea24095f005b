"""`wirelock show`: protocols, fields, rules, source, and the map of the bytes in text and as SVG."""

import ast
import xml.etree.ElementTree as ElementTree

import pytest

from protocol import PROTOCOLS
from tests.cli.command import done, on_terminal, run, run_all, write_project
from wirelock.layout.describe import describe
from wirelock.layout.svgmap import svg_map
from wirelock.layout.textmap import text_map

SHOWN = {
    "all": ("show",),
    "rotation": ("show", "rotation"),
    "rotation/v2": ("show", "rotation/v2"),
    "snapshot": ("show", "snapshot"),
    "snapshot/v1": ("show", "snapshot/v1"),
    "rotation/v1": ("show", "rotation/v1"),
    "rotation/v3": ("show", "rotation/v3"),
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
        "rotation/v1  released  7 bytes  A unit quaternion without its largest component.",
        "rotation/v2  released  7 bytes  A unit quaternion without its largest component, with flags"
        " beside the index.",
        "rotation/v3  released  6 bytes  A unit quaternion without its largest component, in 47 bits and a"
        " spare one.",
        "snapshot/v1  released  9 bytes or more  All entities at one tick.",
        "snapshot/v2  released  9 bytes or more  All entities at one tick.",
        "snapshot/v3  released  9 bytes or more  All entities at one tick.",
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
    [("rotation", 3), ("rotation/v1", 1), ("rotation/v2", 1), ("snapshot/v1", 1), ("snapshot/v2", 1)],
)
def test_source_is_python(shown, name, count):
    tree = ast.parse(shown[f"source of {name}"])
    functions = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    assert functions == ["parse_from", "build"] * count
    compile(shown[f"source of {name}"], name, "exec")


def test_show_one_protocol_is_all_of_its_versions(shown):
    every = shown["rotation"]
    assert every == shown["rotation/v1"] + shown["rotation/v2"] + shown["rotation/v3"]


def test_show_says_places_types_limits_and_meanings(shown):
    text = " ".join(shown["rotation/v2"].split())
    assert "flags byte 0 bits 7..2 " in text
    assert "largest_index byte 0 bits 1..0 " in text
    assert "a byte 1 int16 little-endian The first kept component" in text


# -- the map


def test_the_map_stands_before_the_fields(shown):
    layout = PROTOCOLS["snapshot"].layout(1)
    lines = list(text_map(layout))
    assert lines[1].strip().startswith("+---")
    head, _, rest = shown["snapshot/v1"].partition("\n".join(["", *lines, ""]))
    assert head.splitlines()[-1] == "tag magic, version"
    assert rest.startswith("\n  magic ")


def test_the_svg_is_a_document():
    text = done(run("show", "snapshot/v1", "--svg"))
    assert text == svg_map(PROTOCOLS["snapshot"].layout(1), "snapshot/v1: SnapshotV1, 9 bytes or more")
    assert ElementTree.fromstring(text).tag.endswith("svg")


def test_of_a_protocol_with_one_version_no_version_need_be_said(tmp_path):
    write_project(
        tmp_path,
        "game",
        "from construct import Byte, Struct\nfrom wirelock import Protocol, Record, Registry\n"
        "class R(Record, layout=Struct('a' / Byte)):\n    a: int\n"
        "PROTOCOLS = Registry(Protocol('r', {1: R}))\n",
    )
    assert "<title>r/v1: R, 1 byte</title>" in done(run("show", "r", "--svg", cwd=tmp_path))


@pytest.mark.parametrize(
    "options", [("snapshot/v2", "--svg"), ("rotation", "--source"), ("rotation",), ()], ids=str
)
def test_an_output_file_has_what_would_be_printed(tmp_path, options):
    printed = done(run("show", *options))
    assert done(run("show", *options, "-o", tmp_path / "out")) == ""
    assert (tmp_path / "out").read_text("utf-8") == printed
    assert done(run("show", *options, "-o", "-")) == printed


def test_an_output_file_is_replaced_only_when_all_is_well(tmp_path):
    old = tmp_path / "old.svg"
    old.write_text("old")
    assert run("show", "rotation", "--svg", "-o", old).code == 2
    assert old.read_text() == "old"


@pytest.mark.parametrize("columns", [40, 80, 120, 300])
def test_a_terminal_gets_lines_that_fit(shown, columns):
    code, text = on_terminal("show", "snapshot/v2", columns=columns)
    assert code == 0
    printed = done(run("show", "snapshot/v2"))
    assert text.split() == printed.split()
    if columns >= 80:
        assert max(map(len, text.splitlines())) <= columns
    if columns == 300:
        assert text == printed
