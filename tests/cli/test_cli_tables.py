"""`wirelock decode` into Parquet and Arrow: read back by other people's tools, and beside CSV and JSONL."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys

import duckdb
import numpy as np
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from protocol import PROTOCOLS
from protocol.rotation.v3 import BITS
from protocol.snapshot.migrations import COMPONENTS
from tests.capture.capture_writer import ethernet, ipv4, pcap, udp
from tests.cli.command import (
    COMMAND,
    ENVIRONMENT,
    PINGS,
    ROOT,
    SESSION,
    V1,
    V2,
    capture_of,
    refused,
    run,
    run_all,
    session,
    shell,
    write,
    write_project,
)
from tests.cli.test_cli_output import MEASURE
from wirelock.capture.arrow.files import Groups, TableFile
from wirelock.capture.bulk import WORTH
from wirelock.cli.decode import command
from wirelock.codec.arrow_types import schema_of
from wirelock.quaternion import decode

SNAPSHOT = PROTOCOLS["snapshot"]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()]


def with_duckdb(path):
    found = duckdb.execute("select * replace (epoch_ns(time) as time) from read_parquet(?)", [str(path)])
    return [
        dict(zip([column[0] for column in found.description], row, strict=True)) for row in found.fetchall()
    ]


def with_polars(path):
    frame = polars.read_parquet(path) if path.suffix == ".parquet" else polars.read_ipc(path)
    return frame.with_columns(polars.col("time").dt.timestamp("ns")).to_dicts()


def table_of(path):
    return pq.read_table(path) if path.suffix == ".parquet" else pa.ipc.open_file(path).read_all()


def with_pyarrow(path):
    table = table_of(path)
    return table.set_column(
        table.schema.get_field_index("time"), "time", table["time"].cast(pa.int64())
    ).to_pylist()


READERS = {"duckdb": with_duckdb, "polars": with_polars, "pyarrow": with_pyarrow}


def as_json(value):
    """Return what a reader gives as JSONL has it."""
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    return (
        [as_json(inner) for inner in value]
        if isinstance(value, list)
        else (value.hex() if isinstance(value, bytes) else value)
    )


def expected(row):
    row = {("time" if name == "time_ns" else name): value for name, value in row.items()}
    return {**row, "time": row["time"] and int(row["time"])}


def ran(*arguments, code=0):
    outcome = run("decode", *arguments)
    assert outcome.code == code, outcome.err
    return outcome


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The session in every form, once."""
    folder = tmp_path_factory.mktemp("tables")
    upgrade = ("--as-version", "2", "--explode", "entities", "--faults", "faults.jsonl")
    forms = {
        "parquet": ("-o", folder / "rows.parquet", "--faults", folder / "faults.parquet"),
        "arrow": ("-o", folder / "rows.arrow", "--faults", folder / "faults.arrow"),
        **{
            f"exploded {suffix}": (
                "-o",
                folder / f"flat.{suffix}",
                *upgrade[:4],
                "--faults",
                folder / "f.txt",
            )
            for suffix in ("parquet", "csv", "jsonl")
        },
    }
    outcomes = run_all({name: ("decode", SESSION, *arguments) for name, arguments in forms.items()})
    assert {outcome.code for outcome in outcomes.values()} == {0}, [o.err for o in outcomes.values()]
    return folder, outcomes


# -- what is in the files


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("version", [1, 2])
def test_a_table_of_each_version_has_the_rows_of_jsonl(folder, reader, version):
    rows = [row for row in lines_of(session("--format", "jsonl").out) if row["version"] == version]
    for suffix in ("parquet", "arrow") if reader != "duckdb" else ("parquet",):
        path = folder[0] / f"rows.snapshot-v{version}.{suffix}"
        assert [as_json(row) for row in READERS[reader](path)] == list(map(expected, rows))
        assert len(rows) == 152


def test_the_schema_says_what_the_columns_are_of(folder):
    schema = pq.read_schema(folder[0] / "rows.snapshot-v2.parquet")
    assert schema.equals(pa.ipc.open_file(folder[0] / "rows.snapshot-v2.arrow").schema, check_metadata=True)
    assert schema.metadata == {
        b"wirelock.protocol": b"snapshot",
        b"wirelock.version": b"2",
        b"wirelock.digest": SNAPSHOT.digest(2).encode(),
    }
    assert list(schema.field("record").type) == list(schema_of(SNAPSHOT.layout(2)))
    assert schema.field("time").type == pa.timestamp("ns", "UTC")
    entity = schema.field("record").type["entities"].type.value_type
    assert json.loads(entity["rotation"].type["flags"].metadata[b"members"])["GROUNDED"] == 2
    assert entity["id"].metadata[b"doc"].startswith(b"The entity's number")


@pytest.mark.parametrize("reader", READERS)
def test_the_table_of_faults_has_those_of_jsonl(folder, tmp_path, reader):
    target = tmp_path / "faults.jsonl"
    ran(SESSION, "-o", tmp_path / "rows.csv", "--faults", target)
    wanted = list(map(expected, lines_of(target.read_text("utf-8"))))
    for suffix in ("parquet", "arrow") if reader != "duckdb" else ("parquet",):
        assert [as_json(row) for row in READERS[reader](folder[0] / f"faults.{suffix}")] == wanted
    assert len(wanted) == 16


def test_exploded_rows_are_the_same_in_every_form(folder):
    path = folder[0]
    flat = [as_json(row) for row in with_duckdb(path / "flat.parquet")]
    text = lines_of((path / "flat.jsonl").read_text("utf-8"))
    assert flat == list(map(expected, text))
    assert len(flat) == 916
    found = list(csv.DictReader(io.StringIO((path / "flat.csv").read_text("utf-8"))))
    assert found == [{name: str(value) for name, value in row.items()} for row in text]
    rows = [row["record"] for row in lines_of(session("--format", "jsonl").out)]
    entities = [(row["tick"], at, one) for row in rows for at, one in enumerate(row["entities"])]
    for row, (tick, at, entity) in zip(flat, entities, strict=True):
        assert (row["record.tick"], row["record.entities[]"], row["record.entities.id"]) == (
            tick,
            at,
            entity["id"],
        )
        assert row["record.entities.rotation.flags"] == entity.get("flags", entity["rotation"].get("flags"))


def test_upgraded_rows_have_one_shape_and_the_version_that_was_sent(folder):
    path = folder[0] / "flat.parquet"
    query = (
        'select version, sent_version, "record.version", count(distinct packet) '
        "from read_parquet(?) group by all order by all"
    )
    assert duckdb.execute(query, [str(path)]).fetchall() == [(2, 1, 2, 152), (2, 2, 2, 152)]
    assert pq.read_schema(path).metadata[b"wirelock.digest"] == SNAPSHOT.digest(2).encode()


def test_the_summary_names_the_files(folder):
    lines = folder[1]["parquet"].err.splitlines()
    assert [line.strip() for line in lines[-2:]] == [
        f"152  rows in {folder[0]}/rows.snapshot-v{version}.parquet" for version in (1, 2)
    ]


# -- which files there are


def test_a_file_of_an_earlier_run_is_told(tmp_path):
    capture = write(tmp_path / "one.pcap", capture_of(V1))
    for version in (1, 3):
        write(tmp_path / f"rows.snapshot-v{version}.parquet", "old")
    outcome = ran(capture, "-o", tmp_path / "rows.parquet")
    assert outcome.err.splitlines()[-2:] == [
        f"       1  rows in {tmp_path}/rows.snapshot-v1.parquet",
        f"          left from an earlier run: {tmp_path}/rows.snapshot-v3.parquet",
    ]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_the_one_table_that_can_come_out_has_the_name_given_and_is_there_without_rows(tmp_path, form):
    capture = write(tmp_path / "one.pcap", capture_of(b"other"))
    ran(capture, "-o", tmp_path / f"rows.{form}", "--as-version", "latest", "--explode", "entities")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.pcap", f"rows.{form}"]
    assert with_pyarrow(tmp_path / f"rows.{form}") == []


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_where_no_version_occurs_the_summary_says_that_there_is_no_file(tmp_path, form):
    capture = write(tmp_path / "one.pcap", capture_of(b"other"))
    outcome = ran(capture, "-o", tmp_path / f"rows.{form}")
    assert outcome.err.splitlines()[-1] == (
        "       0  rows, so no file was written: there is one for each version that occurs"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["one.pcap"]


def test_several_captures_have_a_column_of_their_files(tmp_path):
    one, two = (write(tmp_path / f"{name}.pcap", capture_of(V1, V2)) for name in ("one", "two"))
    ran(one, two, "-o", tmp_path / "rows.parquet", "--format", "parquet")
    rows = with_duckdb(tmp_path / "rows.snapshot-v1.parquet")
    assert [(row["file"], row["packet"]) for row in rows] == [(str(one), 1), (str(two), 1)]


def test_a_step_that_loses_what_is_not_allowed_leaves_no_file(tmp_path):
    capture = write(tmp_path / "one.pcap", capture_of(V1, V2))
    target = tmp_path / "rows.parquet"
    outcome = run(
        "decode", capture, "-o", target, "--as-version", "latest", "--faults", tmp_path / "f.parquet"
    )
    refused(
        outcome, "snapshot v2 to v3: the step loses entities[].rotation.largest_index", "allow it by name"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["one.pcap"]
    ran(capture, "-o", target, "--as-version", "latest", "--allow", "entities[].rotation")
    assert [row["sent_version"] for row in with_polars(target)] == [1, 2]


REFUSING = """
from construct import Const, Int8ub, Int16ub, Struct
from wirelock import Migration, Protocol, Record, Registry, derived

class NumberV1(Record, layout=Struct("magic" / Const(b"NN"), "version" / Const(1, Int8ub), "n" / Int16ub)):
    magic: bytes = derived()
    version: int = derived()
    n: int

class NumberV2(Record, layout=Struct("magic" / Const(b"NN"), "version" / Const(2, Int8ub), "n" / Int8ub)):
    magic: bytes = derived()
    version: int = derived()
    n: int

PROTOCOLS = Registry(Protocol("number", {1: NumberV1, 2: NumberV2}, tag=("magic", "version"),
    migrations=[Migration(1, 2, up=lambda old: NumberV2(n=old.n), down=lambda new: NumberV1(n=new.n))]))
"""


def test_a_record_that_a_step_refuses_is_a_fault(tmp_path):
    write(tmp_path / "figures.py", REFUSING)
    capture = write(tmp_path / "n.pcap", capture_of(b"NN\x01\x00\x05", b"NN\x01\x01\x05", b"NN\x02\x07"))
    outcome = run(
        "decode", capture, "--as-version", "2", "--protocols", "figures:PROTOCOLS", "-o", "n.parquet",
        "--faults", "f.parquet", "--strict", cwd=tmp_path,
    )  # fmt: skip
    assert (outcome.code, outcome.out) == (1, "")
    assert "1  fault migration" in outcome.err
    assert [(row["packet"], row["record"]["n"]) for row in with_duckdb(tmp_path / "n.parquet")] == [
        (1, 5),
        (3, 7),
    ]
    (fault,) = with_duckdb(tmp_path / "f.parquet")
    assert (fault["packet"], fault["version"], fault["code"], fault["payload"]) == (
        2,
        1,
        "migration",
        b"NN\x01\x01\x05",
    )
    assert fault["message"].startswith("number v1 to v2: the step refuses the record: n: ")


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_one_table_may_go_into_a_pipe(tmp_path, form):
    target = tmp_path / f"piped.{form}"
    shell(f"$W decode $S --as-version 2 --format {form} -o /dev/stdout | cat > {target}")
    assert len(with_pyarrow(target)) == 304


# -- what cannot be done


WRONG = {
    "parquet on standard output": (("--format", "parquet"), "give -o FILE"),
    "several tables into a device": (("-o", "/dev/null", "--format", "arrow"), "one table only"),
    "no such version": (("--as-version", "4"), "snapshot has no version '4': there are 1, 2, 3, latest"),
    "no such array": (("--explode", "units", "-o", "r.csv"), "an array 'units': there are entities"),
    "a table for people": (("--explode", "entities"), "--format"),
    "a loss without a step": (("--allow", "flags"), "--as-version"),
    "rows and faults in one": (
        ("-o", "r.parquet", "--faults", "r.snapshot-v1.parquet"), "cannot take both rows and faults",
    ),
    "a full disk": (
        ("-o", "/dev/full", "--format", "parquet", "--as-version", "2", "--faults", "f.parquet"),
        "No space left",
    ),
    "a folder that is not there": (("-o", "/nonexistent/r.parquet"), "No such file or directory"),
}  # fmt: skip


@pytest.fixture(scope="module")
def wrong(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    rows = {
        name: ("decode", SESSION, "--protocols", "protocol:PROTOCOLS", *arguments)
        for name, (arguments, _) in WRONG.items()
    }
    return run_all(rows, cwd=folder, PYTHONPATH=f"{ROOT / 'src'}:{ROOT}"), folder


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line_and_writes_nothing(wrong, name):
    refused(wrong[0][name], WRONG[name][1])
    assert list(wrong[1].iterdir()) == []


def test_without_pyarrow_one_line_says_what_to_install(tmp_path):
    write(tmp_path / "pyarrow.py", "raise ImportError('no pyarrow', name='pyarrow')")
    outcome = run("decode", SESSION, "-o", tmp_path / "r.parquet", PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}")
    refused(outcome, "pip install 'wirelock[tables]'")


# -- columns that records declare

ROTATION = "record.entities.rotation."
TURNED = {
    "as they are": ([], ["snapshot-v1.", "snapshot-v2."]),
    "brought to one version": (["--as-version", "3", *(f"--allow={name}" for name in COMPONENTS)], [""]),
    "some of them changed": (["--as-version", "2"], [""]),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(("options", "names"), TURNED.values(), ids=TURNED)
def test_derived_columns_are_those_of_each_record(tmp_path, suffix, options, names):
    """Bit for bit, in structs and flat, beside the columns that there are without them."""
    shapes = {
        "": [],
        "flat.": ["--explode", "entities"],
        "flat.derived.": ["--explode", "entities", "--derived"],
    }
    run_all({
        shape: ("decode", SESSION, "-o", tmp_path / f"{shape}rows.{suffix}", *options, *more)
        for shape, more in (shapes | {"derived.": ["--derived"]}).items()
    })  # fmt: skip
    for name in names:
        tables = {
            shape: table_of(tmp_path / f"{shape}rows.{name}{suffix}") for shape in (*shapes, "derived.")
        }
        plain, flat = tables["flat."], tables["flat.derived."]
        quaternion = [ROTATION + part for part in "xyzw"]
        assert flat.drop_columns(quaternion).equals(plain, check_metadata=True)
        at = flat.schema.get_field_index(ROTATION + "c") + 1
        assert flat.schema.names[at : at + 4] == quaternion
        fields = [flat.schema.field(name) for name in quaternion]
        assert [(str(field.type), field.nullable) for field in fields] == [("float", False)] * 4
        version = flat["version"][0].as_py()
        bits = {"bits": BITS, "canonical": True} if version == 3 else {}
        fields = (flat[ROTATION + part].to_pylist() for part in ("largest_index", "a", "b", "c"))
        wanted = np.array([decode(*packet, **bits) for packet in zip(*fields, strict=True)], "f4")
        found = np.stack([flat[name] for name in quaternion], axis=1)
        assert found.tobytes() == wanted.tobytes() and len(found) > 400
        nested = [
            one["rotation"] for row in tables["derived."]["record"].to_pylist() for one in row["entities"]
        ]
        assert [[one[part] for part in "xyzw"] for one in nested] == found.tolist()


WITHOUT = {
    "lines": (("--format", "jsonl"), "--derived makes columns of Parquet and Arrow: give -o FILE.parquet"),
    "text": (("-o", "r.csv"), "--derived makes columns of Parquet and Arrow: give -o FILE.parquet"),
    "none that declares": (
        ("-o", "r.parquet", "--protocols", "pings:PROTOCOLS"), "no record of ping, note declares columns",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WITHOUT)
def test_derived_columns_that_cannot_be_are_one_line(tmp_path, name):
    arguments, told = WITHOUT[name]
    (tmp_path / "project").mkdir()
    folder = write_project(tmp_path / "project", "pings", PINGS)
    project = () if "--protocols" in arguments else ("--protocols", "protocol:PROTOCOLS")
    path = f"{ROOT / 'src'}:{ROOT}:{folder}"
    refused(run("decode", SESSION, "--derived", *arguments, *project, cwd=tmp_path, PYTHONPATH=path), told)
    assert [file.name for file in tmp_path.iterdir()] == ["project"]


def test_derived_columns_say_which_extra_they_want(tmp_path):
    write(tmp_path / "numba.py", "raise ImportError('no numba', name='numba')")
    outcome = run(
        "decode", SESSION, "-o", tmp_path / "r.parquet", "--derived", PYTHONPATH=f"{tmp_path}:{ROOT / 'src'}"
    )
    refused(outcome, "pip install 'wirelock[columnar]'")
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".py"] == []


DECLARING = """
from construct import Const, Int8ub, Struct
from wirelock import Protocol, Record, Registry, columns, derived

class BeatV1(Record, layout=Struct("magic" / Const(b"BT"), "version" / Const(1, Int8ub), "n" / Int8ub)):
    magic: bytes = derived()
    version: int = derived()
    n: int

    @staticmethod
    @columns("share")
    def share(n):
        return [n, n]

PROTOCOLS = Registry(Protocol("beat", {1: BeatV1}, tag=("magic", "version")))
"""


def test_a_function_that_returns_something_else_is_one_line(tmp_path):
    write_project(tmp_path, "beats", DECLARING)
    capture = write(tmp_path / "c.pcap", capture_of(b"BT\x01\x05"))
    outcome = run("decode", capture, "-o", "r.parquet", "--derived", cwd=tmp_path)
    refused(
        outcome,
        "BeatV1.share: the function returns list; return one array of numbers of shape (0, 1) or (0,)",
    )
    assert not list(tmp_path.glob("r*"))


# -- bounds


@pytest.mark.parametrize("batches", [[30, 1000, 0, 1], [1031], [1] * 1031])
@pytest.mark.parametrize("size", [1, 9])
def test_row_groups_end_where_the_rows_say_however_large_the_batches_are(monkeypatch, batches, size):
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_ROWS", 100)
    monkeypatch.setattr("wirelock.capture.arrow.files.GROUP_BYTES", 800)
    stream, groups, at = io.BytesIO(), Groups(), 0
    with TableFile(stream, "parquet", pa.schema([("n", pa.int32())])) as file:
        for count in batches:
            batch = pa.RecordBatch.from_pydict({"n": range(at, at + count)}, file.schema)
            for start, end, full in groups.cut([size] * count):
                file.write(batch.slice(start, end - start))
                if full:
                    file.end_group()
            at += count
    data = pq.ParquetFile(io.BytesIO(stream.getvalue()))
    sizes = [data.metadata.row_group(group).num_rows for group in range(data.num_row_groups)]
    most = 100 if size == 1 else 89
    assert sizes == [most] * (1031 // most) + [1031 % most]
    assert data.read()["n"].to_pylist() == list(range(1031))


SHAPES = {
    "as they are": (3, []),
    "all brought to one": (2, ["--as-version", "3", *(f"--allow={name}" for name in COMPONENTS)]),
    "some brought to one": (2, ["--as-version", "2", "--explode", "entities"]),
    "none to bring": (2, ["--as", "snapshot", "--as-version", "2"]),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize(("files", "options"), SHAPES.values(), ids=SHAPES)
def test_large_captures_come_to_the_same_by_compiled_code(tmp_path, monkeypatch, suffix, files, options):
    capture = SESSION
    if options[-2:] == ["--as-version", "2"]:
        packets = [(0, 0, ethernet(ipv4(udp(payload)))) for payload in (V2, V2, V2[:-1])]
        capture = write(tmp_path / "v2.pcap", pcap(packets))
    found = []
    for least in (0, 1 << 40):
        monkeypatch.setattr("wirelock.capture.bulk.WORTH", least)
        folder = tmp_path / str(least)
        folder.mkdir()
        into = ["-o", f"{folder}/rows.{suffix}", "--faults", f"{folder}/faults.csv"]
        outcome = CliRunner().invoke(command, [str(capture), *options, *into], standalone_mode=False)
        assert outcome.exit_code == 0
        lines = outcome.stderr.replace(str(folder), "").splitlines()
        said = [line for line in lines if not line.startswith("wirelock: compiling ")]
        found.append((said, {file.name: file.read_bytes() for file in folder.iterdir()}))
    assert found[0] == found[1]
    assert len(found[0][1]) == files


def test_what_is_compiled_is_told_once(tmp_path):
    cache, capture = tmp_path / "cache", pcap([(0, 0, ethernet(ipv4(udp(V1))))])
    call = ("decode", "-", "-o", tmp_path / "r.parquet")
    first, again = (run(*call, given=capture, WIRELOCK_CACHE=str(cache)).err.splitlines() for _ in range(2))
    kept = f"into {cache}: once, then from there"
    assert [line for line in first if line not in again] == [
        f"wirelock: compiling the scan of captures {kept}",
        f"wirelock: compiling columns of SnapshotV1 {kept}",
    ]
    assert len(first) == len(again) + 2


@pytest.mark.parametrize("asked", ["decode", "stats"])
def test_memory_does_not_grow_with_a_large_capture_either(tmp_path, asked):
    """Those come to columns by compiled code, in blocks and row groups."""
    whole = pcap([(n, 0, ethernet(ipv4(udp(V1, source=n)))) for n in range(1000)])
    peaks = []
    for count in (400, 1600):
        capture = write(tmp_path / f"{count}.pcap", whole[:24] + whole[24:] * count)
        assert capture.stat().st_size > WORTH
        into = ["-o", tmp_path / "r.parquet"] if asked == "decode" else []
        peaks.append(peak(asked, capture, *into))
    assert peaks[1] - peaks[0] < 40, peaks


def test_memory_does_not_grow_with_the_capture(tmp_path):
    packet, faulty = ethernet(ipv4(udp(V1))), ethernet(ipv4(udp(V1[:-1])))
    peaks = []
    for count in (6_000, 30_000):
        packets = [(n, 0, faulty if n % 2 == 0 else packet) for n in range(count)]
        capture = write(tmp_path / f"{count}.pcap", pcap(packets))
        into = "-o", tmp_path / "r.parquet", "--faults", tmp_path / "f.parquet"
        peaks.append(peak("decode", capture, *into))
    assert peaks[1] - peaks[0] < 30, peaks


def peak(*arguments):
    """Run the command line; return the most memory that it had, in MiB."""
    child = subprocess.run(
        [sys.executable, "-c", MEASURE, *COMMAND, *arguments],
        cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    code, most = map(int, child.stdout.split())
    assert code == 0
    return most / 1024
