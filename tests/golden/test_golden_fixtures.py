"""This repository's golden files: complete, honest, runnable by others, and as the page about them says."""

from __future__ import annotations

import json
import re
import shutil
import struct
import subprocess
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from protocol import PROTOCOLS
from tests.golden import make_fixtures, rotation_v3
from tests.quaternion import test_quaternion_mistakes as mistakes
from wirelock.golden.run import ENGINES, lint, run
from wirelock.golden.vectors import Case, golden_path, read, read_text, text_of
from wirelock.schema.migration import broken_laws

ROOT = Path(__file__).parents[2]
WORDS = make_fixtures.WORDS
FIXTURES = ROOT / "fixtures"
PAGE = (ROOT / "docs/golden-vectors.md").read_text("utf-8")
VERSIONS = [(protocol.name, version) for protocol in PROTOCOLS for version in protocol.versions]
FILES = {(name, version): read(golden_path(FIXTURES, name, version)) for name, version in VERSIONS}
POSES = json.loads((ROOT / "tests/quaternion/smallest_three_16.json").read_text("utf-8"))

every_version = pytest.mark.parametrize("which", VERSIONS, ids=lambda which: f"{which[0]} v{which[1]}")


@every_version
def test_the_text_is_what_write_gives(which):
    assert golden_path(FIXTURES, *which).read_text("utf-8") == text_of(FILES[which])


@every_version
def test_nothing_is_wrong_with_a_file(which):
    assert lint(FILES[which], PROTOCOLS[which[0]]) == []


@every_version
@pytest.mark.parametrize("engine", ENGINES)
def test_every_vector_holds(which, engine):
    """The plugin runs them too; this is for runs without it."""
    name, version = which
    for vector in FILES[which].vectors:
        assert run(PROTOCOLS[name], version, vector, engine) is None, vector.id


@every_version
def test_there_are_enough_cases_and_most_are_by_hand(which):
    sources = Counter(case.source for case in FILES[which].cases)
    by_hand = sources["hand"] + sources["article"]
    assert by_hand >= (15 if which[0] == "rotation" else 12)
    assert by_hand > 5 * sources["generator"]
    for valid in (True, False):
        assert sum((case.error is None) is valid for case in FILES[which].cases if case.source == "hand") >= 6


@every_version
def test_ids_comments_and_flags_are_for_people(which):
    file = FILES[which]
    for vector in file.vectors:
        assert not vector.comment.startswith(" ") and vector.comment.endswith("."), vector.id
    for flag, told in file.flags.items():
        assert not told.startswith(" ") and told.endswith("."), flag


@every_version
def test_the_json_schema_takes_the_file(which):
    schema = json.loads((FIXTURES / "golden.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    found = json.loads(golden_path(FIXTURES, *which).read_text("utf-8"))
    jsonschema.validate(found, schema, jsonschema.Draft202012Validator)
    beside = golden_path(FIXTURES, *which).parent / found["$schema"]
    assert beside.resolve() == (FIXTURES / "golden.schema.json").resolve()


def test_the_generator_would_add_nothing(capsys):
    assert make_fixtures.main(check=True) == 0
    assert capsys.readouterr().out == ""


def test_the_generator_changes_nothing():
    """V9."""
    file = FILES["rotation", 1]
    first = file.cases[-1]
    assert first.id.startswith("pseudo-random-")
    wrong = replace(file, cases=(*file.cases[:-1], replace(first, data=b"")))
    with pytest.raises(SystemExit, match=f"{first.id} would change"):
        make_fixtures.brought_up_to_date(wrong)
    missing = replace(file, cases=file.cases[:-1])
    assert make_fixtures.brought_up_to_date(missing) == file


def test_v2_without_flags_is_v1():
    """Stated in the record's documentation: byte for byte."""
    old = {case.data: case for case in FILES["rotation", 1].cases if case.record is not None}
    new = [
        case for case in FILES["rotation", 2].cases if case.record is not None and case.record["flags"] == 0
    ]
    assert len(new) >= 6
    shared = [case for case in new if case.data in old]
    assert len(shared) >= 4
    for case in shared:
        assert old[case.data].record == {key: case.record[key] for key in ("largest_index", "a", "b", "c")}
    for case in new:
        record = PROTOCOLS["rotation"].parse(case.data, version=1)
        assert record.build() == case.data
    assert all(case.data[:1] < b"\4" for case in FILES["rotation", 1].cases if case.record is not None)


# -- poses


@pytest.mark.parametrize("version", [1, 2])
def test_all_73_vectors_are_poses(version):
    poses = FILES["rotation", version].poses
    assert Counter(pose.direction for pose in poses) == {"encode": 57, "decode": 16}
    by_id = {pose.id: pose for pose in poses}
    assert len(by_id) == 73
    for vector in POSES["encode"]:
        pose = by_id[WORDS["encode"][vector["name"]][0]]
        assert pose.direction == "encode" and list(pose.quaternion) == vector["input"]
        assert (pose.data.hex() if pose.data is not None else "reject") == vector["expect"]
        assert (pose.code is None) == (vector["expect"] != "reject")
    for vector in POSES["decode"]:
        words = WORDS["decode"][vector["name"]]
        if version == 2:
            words = WORDS["decode_v2"].get(vector["name"], words)
        pose = by_id[words[0]]
        assert pose.direction == "decode" and pose.data.hex() == vector["packet"]
        if words[0] != "decode-flag-not-index":
            assert (pose.code is None) == vector["accept"]
            assert list(pose.quaternion or ()) == (vector["v1_decode_bits"] if vector["accept"] else [])


NAMES = {flag: mistake for mistake, (flag, _) in WORDS["flags"].items()}


def test_every_flag_of_an_encode_pose_is_a_mistake_that_it_catches():
    """The second encoder of the quaternion tests makes each mistake: it fails where that is flagged."""
    poses = [pose for pose in FILES["rotation", 1].poses if pose.direction == "encode"]
    finite = [pose for pose in poses if "nan-sent" not in pose.flags]
    assert len(poses) - len(finite) == 6
    for flag, mistake in NAMES.items():
        if mistake == "overflow-safe-normalise":
            continue
        caught = {
            pose.id
            for pose in finite
            if mistakes.encode(floats(pose.quaternion), **mistakes.MISTAKES[mistake])
            != (pose.data.hex() if pose.data is not None else "reject")
        }
        assert caught == {pose.id for pose in finite if flag in pose.flags}, flag


def test_what_is_not_finite_catches_three_mistakes():
    poses = [pose for pose in FILES["rotation", 1].poses if "nan-sent" in pose.flags]
    careless = {
        "refuses": lambda squared: squared < mistakes.LEAST,
        "quantise": lambda v: mistakes.half_even(v) if np.isfinite(v) else 0,
    }
    safe = {"reads": lambda q: [component / max(map(abs, q)) for component in q]}
    for pose in poses:
        q = floats(pose.quaternion)
        assert pose.code == "out-of-range"
        assert mistakes.encode(q) == "reject"
        assert mistakes.encode(q, **careless) == "00" * 7
        flagged = {"nan-sent"}
        flagged |= {"overflow-safe"} if mistakes.encode(q, **safe) != "reject" else set()
        if np.isfinite(q).all():  # a NaN that was let through is no integer, in binary64 either
            assert mistakes.encode(q, **mistakes.MISTAKES["float64-throughout"]) != "reject"
            flagged.add("binary64")
        assert set(pose.flags) == flagged


def floats(words):
    return [struct.unpack(">f", bytes.fromhex(word))[0] for word in words]


def fused(a, b, c):
    return mistakes.fused(a, b, np.float32(c)) if isinstance(a, np.float32) else Fraction(0)


def decoded(data, *, kind=np.float32, divides=True, normalises=True, fuses=False):
    """Decode as docs/quaternion.md says, or with one mistake."""
    index, *steps = struct.unpack("<B3h", data)
    scale = kind(46339.53515625)
    u, v, w = (kind(n) / scale if divides else kind(n) * (kind(1) / scale) for n in steps)
    squares = fused(w, w, fused(v, v, u * u)) if fuses else (u * u + v * v) + w * w
    q = [u, v, w]
    q.insert(index, np.sqrt(kind(1) - squares))
    if normalises:
        x, y, z, t = q
        length = np.sqrt((x * x + y * y) + (z * z + t * t))
        q = [component / length for component in q]
    return tuple(struct.pack(">f", component).hex() for component in q)


@pytest.mark.parametrize(
    ("flag", "mistake"),
    [
        ("decode-binary64", {"kind": np.float64}),
        ("decode-no-normalising", {"normalises": False}),
        ("decode-reciprocal", {"divides": False}),
        ("decode-fused", {"fuses": True}),
    ],
)
def test_every_flag_of_a_decode_pose_is_a_mistake_that_it_catches(flag, mistake):
    poses = [pose for pose in FILES["rotation", 1].poses if pose.direction == "decode" and pose.code is None]
    assert all(decoded(pose.data) == pose.quaternion for pose in poses)
    caught = {pose.id for pose in poses if decoded(pose.data, **mistake) != pose.quaternion}
    assert caught == {pose.id for pose in poses if flag in pose.flags}
    assert caught


def test_what_encodes_to_other_bytes_is_flagged():
    rotation = PROTOCOLS["rotation"].versions[1]
    for pose in FILES["rotation", 1].poses:
        if pose.direction == "decode" and pose.code is None:
            again = rotation.from_quaternion(*floats(pose.quaternion)).build()
            assert (again != pose.data) == ("only-own" in pose.flags), pose.id


# -- v3, with a second implementation

V3 = FILES["rotation", 3]


def fields(record):
    return tuple(record[name] for name in ("largest_index", "a", "b", "c"))


def test_the_cases_of_v3_are_what_the_second_implementation_says():
    """The bytes by hand, and the verdicts of both rules."""
    for case in V3.cases:
        if case.record is not None:
            packet = fields(case.record)
            assert rotation_v3.pack(*packet) == case.data and rotation_v3.unpack(case.data) == packet
            assert rotation_v3.reachable(*packet) and rotation_v3.canonical(packet), case.id
        elif case.error.code.startswith("rule:"):
            packet = rotation_v3.unpack(case.data)
            assert rotation_v3.reachable(*packet) == (case.error.code == "rule:canonical"), case.id
            assert not rotation_v3.canonical(packet), case.id


def test_the_inputs_of_the_73_vectors_are_poses_of_v3():
    given = {pose.quaternion for pose in V3.poses if pose.direction == "encode"}
    assert {tuple(vector["input"]) for vector in POSES["encode"]} <= given
    assert len({pose.id for pose in V3.poses}) == len(V3.poses)


def test_every_flag_of_a_pose_of_v3_is_a_mistake_that_it_catches():
    words = make_fixtures.WORDS_V3
    flags = {flag: mistake for mistake, (flag, _) in words["flags"].items()}
    assert set(words["flags"]) == set(rotation_v3.MISTAKES)
    assert set(words["decode_flags"]) == set(rotation_v3.DECODING)
    seen = set()
    for pose in V3.poses:
        if pose.direction == "encode":
            caught = rotation_v3.caught(floats(pose.quaternion))
            assert caught == {flags[flag] for flag in pose.flags}, pose.id
        elif pose.code is None:
            packet = rotation_v3.unpack(pose.data)
            assert rotation_v3.decode(packet) == pose.quaternion
            caught = {
                flag
                for flag, mistake in rotation_v3.DECODING.items()
                if rotation_v3.decode(packet, **mistake) != pose.quaternion
            }
            assert caught == set(pose.flags) & set(rotation_v3.DECODING), pose.id
        else:
            caught = set()
        seen |= caught
    assert seen == set(rotation_v3.MISTAKES) | set(rotation_v3.DECODING)


def test_what_only_16_bits_tell_is_not_flagged_in_v3():
    """The comments of these poses say that the mistake of their vector does not show."""
    names = {pose_name(vector): vector["name"] for vector in POSES["encode"]}
    poses = [pose for pose in V3.poses if pose.id.endswith("-of-16-bits")]
    assert len(poses) == 18
    mistakes_of = {flag: mistake for mistake, (flag, _) in make_fixtures.WORDS_V3["flags"].items()}
    for pose in poses:
        mistake = names[pose.id].removeprefix("drift:").replace("32767", "N")
        assert mistake not in {mistakes_of[flag] for flag in pose.flags}, pose.id
        if pose.id.startswith("encode-nearly-unit"):
            assert "skip-near-unit" not in pose.flags
        if "halfway" in pose.id:
            assert not {"half-away", "half-up"} & set(pose.flags), pose.id


def pose_name(vector):
    return (WORDS["encode"] | make_fixtures.WORDS_V3["encode"])[vector["name"]][0]


def test_v3_encodes_again_what_it_decodes():
    rotation = PROTOCOLS["rotation"].versions[3]
    for vector in V3.vectors:
        refused = vector.error if isinstance(vector, Case) else vector.code
        if refused is None:
            record = rotation.parse(vector.data)
            assert rotation.from_quaternion(*record.to_quaternion()).build() == vector.data, vector.id


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_a_golden_case_shows_every_loss_of_a_migration(protocol):
    def records(version):
        parse = protocol.versions[version].parse
        cases = FILES[protocol.name, version].cases
        return [parse(case.data) for case in cases if case.record is not None]

    for old in list(protocol.versions)[:-1]:
        migration = next(step for step in steps(protocol) if step.old == old)
        assert broken_laws(protocol.migrations, migration, records(old), records(migration.new)) == []


def steps(protocol):
    return import_module(f"protocol.{protocol.name}.migrations").MIGRATIONS


# -- the page


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_example_of_the_format_is_of_the_format():
    (text,) = blocks("json")
    file = read_text(text, "the example")
    known = {case.id: case for case in FILES["rotation", 1].cases}
    assert [case.id for case in file.cases] == ["article-fixed-sample", "cut-after-a"]
    for case in file.cases:
        assert isinstance(case, Case)
        same = known[case.id]
        assert (case.data, case.record, case.error) == (same.data, same.record, same.error)
        assert set(case.flags) <= set(same.flags)
    assert all(FILES["rotation", 1].flags[flag] == told for flag, told in file.flags.items())


def test_the_example_of_adding_a_case_runs(tmp_path, monkeypatch):
    source = "\n".join(blocks("python"))
    shutil.copytree(FIXTURES / "rotation", tmp_path / "fixtures/rotation")
    (tmp_path / "first").mkdir()
    monkeypatch.chdir(tmp_path)
    exec(compile(source, "golden-vectors.md", "exec"), {})
    old, new = FILES["rotation", 1], read(tmp_path / "fixtures/rotation/v1.json")
    assert new.cases[:-1] == old.cases and new.cases[-1].id == "smallest-step"
    assert new.cases[-1].record == {"largest_index": 3, "a": 0, "b": 0, "c": 256}
    assert [case.id for case in read(tmp_path / "first/v1.json").cases] == ["identity"]


def test_the_example_of_a_failure_is_one(project):
    """The page shows what a wrong byte order in rotation v1 looks like."""
    (text,) = blocks("text")
    for name in ("protocol", "fixtures/rotation", "fixtures/snapshot"):
        shutil.copytree(
            ROOT / name, project.root / name, ignore=shutil.ignore_patterns("__pycache__", "*.lock")
        )
    project.file("pyproject.toml", '[tool.wirelock]\nprotocols = "protocol:PROTOCOLS"\n')
    path = project.root / "protocol/rotation/v1.py"
    source = path.read_text("utf-8").replace('"c" / Int16sl', '"c" / Int16sb')
    path.write_text(source.replace("import Int8ul", "import Int16sb, Int8ul"), "utf-8")
    outcome = project.pytest("fixtures/rotation/v1.json::article-fixed-sample")
    shown = [line.rstrip() for line in outcome.report("article-fixed-sample")]
    assert shown == text.splitlines()


def test_the_names_on_the_page_exist():
    for path in re.findall(r"(?:fixtures|tests|docs)/[\w./-]+\.\w+", PAGE):
        assert (ROOT / path).is_file(), path
    case = re.search(r"fixtures/rotation/v1\.json::([a-z0-9-]+)", PAGE)
    assert case is not None and case[1] in {vector.id for vector in FILES["rotation", 1].vectors}


NODE = shutil.which("node")
if NODE is not None:

    @pytest.fixture
    def failures(tmp_path):
        """Return what the runner of the page says of files with a client, a list of failures a file."""
        (source,) = blocks("js")
        (tmp_path / "runner.mjs").write_text(source, "utf-8")

        def told(client, *versions):
            (tmp_path / "main.mjs").write_text(
                'import { run } from "./runner.mjs";\n'
                f"const codec = await import({json.dumps((ROOT / 'tests/golden' / client).as_uri())});\n"
                "for (const path of process.argv.slice(2)) console.log(JSON.stringify(run(path, codec)));\n",
                "utf-8",
            )
            files = [str(golden_path(FIXTURES, "rotation", version)) for version in versions]
            done = subprocess.run(
                [NODE, str(tmp_path / "main.mjs"), *files],
                capture_output=True, text=True, check=True, timeout=60,
            )  # fmt: skip
            return [json.loads(line) for line in done.stdout.splitlines()]

        return told

    def test_the_runner_on_the_page_passes_with_a_client_in_javascript(failures):
        good, other = failures("rotation_v1.mjs", 1, 2)
        assert good == []
        # The same client on the vectors of v2: it fails where there are flags, which shows that it can fail.
        failed = {failure["id"] for failure in other}
        assert {"all-flags", "teleported", "decode-flag-not-index"} <= failed
        assert "encode-article-sample" not in failed

    def test_a_client_of_v3_in_javascript_passes(failures):
        good, other = failures("rotation_v3.mjs", 3, 1)
        assert good == []
        assert len(other) > 50
