"""The plugin from outside: pytest in a project of its own."""

from __future__ import annotations

import json

import pytest

IDS = [
    "fixtures/lamp/v1.json::red",
    "fixtures/lamp/v1.json::cut",
    "fixtures/lamp/v1.json::too-bright",
    "fixtures/lamp/v1.json::green",
    "fixtures/lists/v1.json::two",
    "fixtures/lists/v1.json::another",
    "fixtures/lists/v1.json::later",
    "fixtures/lists/v1.json::short",
    "fixtures/lists/v2.json::nan",
    "fixtures/lists/v2.json::minus-zero",
]


def edit(project, name, change):
    path = project.root / f"fixtures/{name}.json"
    found = json.loads(path.read_text("utf-8"))
    change(found)
    path.write_text(json.dumps(found, indent=1), "utf-8")


def case(found, name):
    return next(item for item in found["cases"] if item["id"] == name)


# -- what is collected


def test_every_case_is_a_test(project):
    outcome = project.pytest("-v")
    assert outcome.code == 0
    assert [line.split()[0] for line in outcome.text.splitlines() if "PASSED" in line] == IDS
    assert outcome.last.startswith("=") and " 10 passed in " in outcome.last


def test_collect_only_lists_them_in_order(project):
    first, second = (project.pytest("--collect-only", "-q") for _ in range(2))
    listed = [line for line in first.text.splitlines() if "::" in line]
    assert listed == IDS
    assert [line for line in second.text.splitlines() if "::" in line] == IDS


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        (["fixtures"], 10),
        (["fixtures/lists"], 6),
        (["fixtures/lists/v2.json"], 2),
        (["fixtures/lamp/v1.json::red"], 1),
        (["-k", "minus-zero"], 1),
        (["-k", "order"], 1),  # a flag
        (["-k", "lists and not v2"], 4),
        (["--deselect", "fixtures/lamp/v1.json::red"], 9),
        (["--ignore", "fixtures/lamp"], 6),
        (["tests"], 1),
    ],
)
def test_arguments_choose(project, arguments, count):
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest("--collect-only", "-q", *arguments)
    # Another test of the project belongs to runs that do not name fixtures.
    others = [line for line in outcome.text.splitlines() if "::" in line and "test_other" in line]
    found = [line for line in outcome.text.splitlines() if "::" in line and "test_other" not in line]
    assert len(others) == 1 if arguments == ["tests"] else True
    assert len(found) == (0 if arguments == ["tests"] else count), outcome.text


def test_from_a_folder_below(project):
    outcome = project.pytest("-v", folder="fixtures/lists")
    assert outcome.code == 0
    assert "6 passed" in outcome.last
    outcome = project.pytest("-v", "../fixtures/lamp/v1.json", folder="fixtures")
    assert "4 passed" in outcome.last


def test_a_run_of_everything_runs_files_that_testpaths_leaves_out(project):
    """V8."""
    project.file("pytest.ini", "[pytest]\ntestpaths = tests\n")
    project.file("tests/test_other.py", "def test_other(): pass\n")
    outcome = project.pytest("-v")
    assert "11 passed" in outcome.last
    edit(project, "lamp/v1", lambda found: case(found, "red").update(bytes="010204"))
    assert project.pytest().failed() == {"fixtures/lamp/v1.json::red"}
    assert project.pytest("tests").code == 0
    assert project.pytest("--ignore=fixtures").code == 0


def test_a_folder_that_pytest_passes_over_is_run_too(project):
    """V8: a protocol may be called build, a name that pytest does not look into."""
    wire = (project.root / "wire.py").read_text()
    project.file("wire.py", wire.replace('Protocol("lamp"', 'Protocol("build"'))
    (project.root / "fixtures/lamp").rename(project.root / "fixtures/build")
    edit(project, "build/v1", lambda found: found.update(protocol="build"))
    outcome = project.pytest("-v")
    assert "10 passed" in outcome.last
    assert outcome.text.count("fixtures/build/v1.json::red") == 1


def test_other_json_files_are_left_alone(project):
    project.file("fixtures/captures/expected.json", "no JSON")
    project.file("fixtures/v1.json", "no JSON")
    project.file("elsewhere/lamp/v1.json", "no JSON")
    assert "10 passed" in project.pytest().last


def test_other_folders_for_fixtures(project):
    project.file(
        "pyproject.toml", '[tool.wirelock]\nprotocols = "wire:PROTOCOLS"\nfixtures = "golden/files"\n'
    )
    (project.root / "golden").mkdir()
    (project.root / "fixtures").rename(project.root / "golden/files")
    assert "10 passed" in project.pytest().last
    assert "6 passed" in project.pytest("golden/files/lists").last


def test_a_linked_folder_is_run_once(project):
    (project.root / "fixtures/lamp").rename(project.root / "elsewhere")
    (project.root / "fixtures/lamp").symlink_to(project.root / "elsewhere")
    outcome = project.pytest("-v")
    assert "10 passed" in outcome.last
    assert "fixtures/lamp/v1.json::red PASSED" in outcome.text


# -- nothing without settings


@pytest.mark.parametrize(
    "settings",
    [
        None,
        "[project]\nname = 'other'\nversion = '1'\ndependencies = ['wirelock']\n",
        "[tool.other]\nwirelock = 1\n",
    ],
)
def test_without_settings_nothing_happens_and_nothing_is_imported(bare, settings):
    if settings is not None:
        bare.file("pyproject.toml", settings)
    bare.file("fixtures/lamp/v1.json", "no JSON")
    bare.file(
        "test_nothing.py",
        "import sys\n"
        "def test_nothing():\n"
        "    assert 'wirelock.golden.plugin' in sys.modules\n"
        "    heavy = {'construct', 'pydantic', 'wirelock.schema', 'wirelock.golden.vectors'}\n"
        "    assert not heavy & set(sys.modules)\n",
    )
    outcome = bare.pytest()
    assert outcome.code == 0, outcome.text
    assert "1 passed" in outcome.last


def test_protocols_are_not_imported_for_other_tests(project):
    project.file("wire.py", "raise RuntimeError('imported')\n")
    project.file("tests/test_other.py", "def test_other(): pass\n")
    assert "1 passed" in project.pytest("tests").last


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("[tool.wirelock]\n", "no [tool.wirelock] with protocols"),
        ("[tool.wirelock]\nprotocol = 'wire:PROTOCOLS'\n", "has no setting 'protocol'"),
        ("[tool.wirelock]\nprotocols = 1\n", "is no string"),
    ],
)
def test_bad_settings_are_one_line(bare, settings, reason):
    bare.file("pyproject.toml", settings)
    outcome = bare.pytest()
    assert outcome.code == 4
    assert reason in outcome.text
    assert "Traceback" not in outcome.text and "INTERNALERROR" not in outcome.text


# -- files that cannot be run


def changed(change):
    def make(found):
        change(found)
        return json.dumps(found)

    return make


def twice(found):
    found["cases"].append(case(found, "red"))


FILE_PROBLEMS = [
    (lambda found: "{", "line 1 column 2: Expecting property name enclosed in double quotes"),
    (lambda found: "", "line 1 column 1: Expecting value"),
    (lambda found: json.dumps(found)[:33], "line 1 column 33: Unterminated string starting at"),
    (lambda found: "[]", "is no object"),
    (
        lambda found: '{"format": "wirelock-golden/2"}',
        "the format 'wirelock-golden/2' is not wirelock-golden/1",
    ),
    (changed(lambda found: found.update(verison=1)), "the key 'verison' is not known here"),
    (changed(twice), "case red: the id is there twice"),
    (changed(lambda found: found.pop("flags")), "flags is missing"),
    (changed(lambda found: found.update(cases=[])), "the file has no cases"),
    (
        changed(lambda found: case(found, "red").update(bytes="01020")),
        "case red: bytes '01020' are not pairs of lower-case hex digits",
    ),
    (changed(lambda found: found.update(protocol="lists")), "the file is of lists v1, not lamp-10 v1"),
    (changed(lambda found: found.update(version=2)), "the file is of lamp-11 v2, not lamp-11 v1"),
]


def test_a_file_that_cannot_be_run_is_one_failing_test(project, goldens):
    numbers = range(len(FILE_PROBLEMS))
    more = 'Registry(lamp, lists, *(Protocol(f"lamp-{i}", {1: LampV1}) for i in range(99)))'
    project.file("wire.py", (project.root / "wire.py").read_text() + f"PROTOCOLS = {more}\n")
    for number, (spoiled, _) in enumerate(FILE_PROBLEMS):
        found = goldens()["lamp/v1"] | {"protocol": f"lamp-{number}"}
        project.file(f"fixtures/lamp-{number}/v1.json", spoiled(found))
    outcome = project.pytest()
    assert outcome.code == 1
    assert outcome.failed() == {f"fixtures/lamp-{number}/v1.json::[file]" for number in numbers}
    assert f"{len(numbers)} failed, 10 passed" in outcome.last
    reports = [line for line in outcome.text.splitlines() if ": [file]: " in line]
    wanted = {f"fixtures/lamp-{i}/v1.json:1: [file]: {reason}" for i, (_, reason) in enumerate(FILE_PROBLEMS)}
    assert set(reports) == wanted and len(reports) == len(wanted)


def test_bytes_that_are_no_text(project):
    (project.root / "fixtures/lamp/v1.json").write_bytes(b'{"format": "\xff"}')
    (line,) = project.pytest().report("[file]")
    assert line == "fixtures/lamp/v1.json:1: [file]: is not UTF-8: invalid start byte at byte 12"


def test_the_digest_is_checked_and_the_cases_run_all_the_same(project, digests):
    edit(project, "lamp/v1", lambda found: found.update(digest="sha256:" + "0" * 64))
    outcome = project.pytest()
    assert outcome.failed() == {"fixtures/lamp/v1.json::[file]"}
    assert "1 failed, 10 passed" in outcome.last
    (line,) = outcome.report("[file]")
    assert "the file is of another layout" in line and digests["lamp/v1"] in line


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("lamps/v1", "there is no protocol lamps: there are lamp, lists"),
        ("lamp/v2", "lamp has no version 2: there are v1"),
        ("lamp/V2", "golden files of lamp are called v<version>.json"),
        ("lamp/v01", "golden files of lamp are called v<version>.json"),
        ("lamp/draft", "golden files of lamp are called v<version>.json"),
    ],
)
def test_a_file_of_nothing(project, name, reason):
    text = (project.root / "fixtures/lamp/v1.json").read_text()
    project.file(f"fixtures/{name}.json", text)
    outcome = project.pytest()
    assert outcome.failed() == {f"fixtures/{name}.json::[file]"}
    assert outcome.report("[file]") == [f"fixtures/{name}.json:1: [file]: {reason}"]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import nothing_of_that_name", "wire does not import: No module named 'nothing_of_that_name'"),
        ("1 / 0", "wire does not import: ZeroDivisionError: division by zero"),
        ("def broken(:", "wire does not import: SyntaxError: invalid syntax"),
        ("import sys; sys.exit(3)", "wire does not import: SystemExit: 3"),
        (
            "import warnings; warnings.warn('old', DeprecationWarning)",
            "wire does not import: DeprecationWarning: old",
        ),
        ("PROTOCOL = 1", "wire has no Registry named PROTOCOLS"),
        (
            "from construct import Byte, Struct\nfrom wirelock import Record\n"
            "class R(Record, layout=Struct('a' / Byte)):\n    b: int\n",
            "R.a: the layout has a, the record has not",
        ),
    ],
)  # fmt: skip
def test_protocols_that_do_not_import(project, source, reason):
    project.file("wire.py", source)
    outcome = project.pytest("-W", "error")
    assert outcome.failed() == {
        f"fixtures/{name}.json::[file]" for name in ("lamp/v1", "lists/v1", "lists/v2")
    }
    assert outcome.code == 1
    assert len(outcome.report("[file]")) == 1
    assert f"fixtures/lamp/v1.json:1: [file]: {reason}" in outcome.text
    assert "INTERNALERROR" not in outcome.text and "Traceback" not in outcome.text


def test_poses_want_a_record_that_has_them(project):
    pose = {
        "id": "turn", "comment": "A pose.", "source": "hand", "flags": [], "direction": "encode",
        "quaternion": ["00000000"] * 4, "result": "invalid", "error": {"code": "out-of-range"},
    }  # fmt: skip
    edit(project, "lamp/v1", lambda found: found.update(poses=[pose]))
    outcome = project.pytest()
    assert outcome.failed() == {"fixtures/lamp/v1.json::[file]"}
    assert "1 failed, 10 passed" in outcome.last
    (line,) = outcome.report("[file]")
    assert line.endswith("[file]: there are poses, but LampV1 has no from_quaternion")


# -- cases that do not hold


def test_a_changed_byte_is_shown_by_field(project):
    edit(project, "lamp/v1", lambda found: case(found, "red").update(bytes="010204"))
    outcome = project.pytest()
    assert outcome.failed() == {"fixtures/lamp/v1.json::red"}
    lines = outcome.report("red")
    line = (project.root / "fixtures/lamp/v1.json").read_text().splitlines().index('   "id": "red",') + 1
    assert lines == [
        f"fixtures/lamp/v1.json:{line}: red: decode-old: the record differs: level: the case has 515,"
        " the bytes are 516 (generated and reference)",
        "comment: A case.",
        "",
        "the record:",
        "  level: the case has 515, the bytes are 516",
        "",
        "   at    field   bytes of the case         bytes of its record",
        "   0     colour  01                 1 RED  01                   1 RED",
        ">  1..2  level   02 04              516    02 03                515",
    ]
    assert "FAILED fixtures/lamp/v1.json::red - decode-old: the record differs" in outcome.text
    assert "Traceback" not in outcome.text


def test_a_deleted_field_of_the_record(project):
    edit(project, "lists/v1", lambda found: case(found, "two")["record"].pop("n"))
    edit(project, "lamp/v1", lambda found: case(found, "red")["record"].pop("level"))
    outcome = project.pytest()
    assert (
        "decode-old: the record differs: n: the case has nothing, the bytes are 2 ("
        in outcome.report("two")[0]
    )
    assert "level: the case has nothing, the bytes are 515" in outcome.report("red")[0]
    assert "2 failed, 8 passed" in outcome.last


def test_the_promises_are_two(project):
    """A record that does not load breaks only the promise that needs it to."""

    def spoil_it(found):
        case(found, "red")["record"]["level"] = 1001
        case(found, "red")["promises"] = ["encode-exact"]

    edit(project, "lamp/v1", spoil_it)
    (first, *_) = project.pytest().report("red")
    assert "encode-exact: the record is refused: level: Input should be less than or equal to 1000 (" in first
    edit(project, "lamp/v1", lambda found: case(found, "red")["record"].update(level=514))
    lines = project.pytest().report("red")
    assert "encode-exact: the record builds other bytes: the first difference is at byte 2 (" in lines[0]
    assert lines[-3:] == [
        "   at    field   wanted         found",
        "   0     colour  01      1 RED  01     1 RED",
        ">  1..2  level   02 03   515    02 02  514",
    ]
    edit(project, "lamp/v1", lambda found: case(found, "red").update(promises=["decode-old"]))
    assert "decode-old: " in project.pytest().report("red")[0]


WANTED = [
    ("010203", {}, "wanted truncated at level (byte 1), found a record"),
    ("", {}, "wanted truncated at level (byte 1), found truncated at colour (byte 0)"),
    (
        "01",
        {"code": "trailing-bytes"},
        "wanted trailing-bytes at level (byte 1), found truncated at level (byte 1)",
    ),
    ("01", {"path": ""}, "wanted truncated at the record (byte 1), found truncated at level (byte 1)"),
    ("01", {"byte": 2}, "wanted truncated at level (byte 2), found truncated at level (byte 1)"),
    ("01", {"byte": None}, "wanted truncated at level, found truncated at level (byte 1)"),
]


def test_an_invalid_case_wants_its_own_fault(project):
    def change(found):
        cut = case(found, "cut")
        for number, (octets, error, _) in enumerate(WANTED):
            new = cut | {"id": f"cut-{number}", "bytes": octets, "error": cut["error"] | error}
            found["cases"].append(new)

    edit(project, "lamp/v1", change)
    outcome = project.pytest("fixtures/lamp")
    assert outcome.failed() == {f"fixtures/lamp/v1.json::cut-{number}" for number in range(len(WANTED))}
    for number, (_, _, reason) in enumerate(WANTED):
        assert f": cut-{number}: {reason} (generated and reference)" in outcome.report(f"cut-{number}")[0]
    assert outcome.report("cut-0")[3:] == [
        "the record:",
        '  {"colour": 1, "level": 515}',
        "",
        "   at    field   bytes  value",
        "   0     colour  01     1 RED",
        ">  1..2  level   02 03  515",
    ]


def test_a_valid_case_that_is_refused(project):
    edit(project, "lists/v1", lambda found: case(found, "two").update(bytes="4c0102000100"))
    lines = project.pytest().report("two")
    assert "decode-old: refused: lists v1: xs[1]: 2 bytes wanted, 1 left (byte 5)" in lines[0]
    assert lines[-1] == ">  5     xs[1]    00     cut short"


def test_the_tag_decides_the_version(project):
    def swap(found):
        case(found, "two")["bytes"] = "4c020000803f6162"
        case(found, "short")["bytes"] = "4c02"

    edit(project, "lists/v1", swap)
    outcome = project.pytest()
    assert "the tag is that of another version: found a ListV2" in outcome.report("two")[0]
    assert "refused as lists v2: lists v2: x: 4 bytes wanted, 0 left (byte 2)" in outcome.report("short")[0]


def test_minus_zero_and_types_are_told_apart(project):
    edit(project, "lists/v2", lambda found: case(found, "minus-zero")["record"].update(x=0.0))
    edit(project, "lamp/v1", lambda found: case(found, "red")["record"].update(level=515.0))
    outcome = project.pytest()
    assert "x: the case has 0.0, the bytes are -0.0" in outcome.report("minus-zero")[0]
    assert "level: the case has 515.0, the bytes are 515" in outcome.report("red")[0]


def test_engines_that_differ_are_told_apart(project):
    project.file(
        "conftest.py",
        "from wirelock.codec.reference import ReferenceEngine\n"
        "ReferenceEngine.build = lambda self, record: b'\\x01\\x02\\x07'\n",
    )
    lines = project.pytest("fixtures/lamp/v1.json::red").report("red")
    assert lines[0].endswith(
        "the record that was parsed builds other bytes: the first difference is at byte 2 (reference)"
    )


def test_a_bug_shows_its_traceback(project):
    project.file(
        "conftest.py",
        "from wirelock.codec.reference import ReferenceEngine\n"
        "def parse(self, data):\n    raise AssertionError('an engine is broken')\n"
        "ReferenceEngine.parse = parse\n",
    )
    outcome = project.pytest("fixtures/lamp/v1.json::red")
    assert "AssertionError: an engine is broken" in outcome.text
    assert "conftest.py:3: AssertionError" in outcome.text


def test_reports_survive_as_xml(project):
    edit(project, "lamp/v1", lambda found: case(found, "red").update(bytes="010204"))
    outcome = project.pytest("--junitxml=report.xml", "--tb=line")
    assert outcome.failed() == {"fixtures/lamp/v1.json::red"}
    text = (project.root / "report.xml").read_text()
    assert 'message="decode-old: the record differs: level: the case has 515, the bytes are 516' in text
