"""What exported codecs promise, held against the engines in every language and on every runtime.

Golden files run, and fail where they are spoiled; a request gets the answer that the engines give. A table is
requests with the answers wanted: it is made once, and asked of every way in which code runs.
"""

from __future__ import annotations

import functools
import json
import random
import struct
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import construct as c
import numpy as np
import pytest
from annotated_types import Le
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from protocol import PROTOCOLS
from tests.export.languages import CPLUSPLUS, WAYS, ask, golden, refused, run
from tests.export.machine import Fault, Held, Machine
from tests.export.test_export_read import wanted
from tests.strategies import layouts, lowered, mutated, name_layout, samples
from wirelock import Protocol, Record, derived, quaternion
from wirelock.errors import DecodeError, EncodeError, ExportError, NegotiationError
from wirelock.export.lower.declare import program_of
from wirelock.export.targets import TARGETS, export
from wirelock.golden.vectors import read
from wirelock.layout.nodes import Layout
from wirelock.layout.walk import walk

Table: TypeAlias = list[tuple[str, str]]

FIXTURES = sorted(Path("fixtures").glob("*/v*.json"))
CODECS = {target: export(PROTOCOLS, target, name="game", tests=True) for target in TARGETS}
every_way = pytest.mark.parametrize("way", WAYS)


def runner(way: str, folders: pytest.TempPathFactory) -> list[str]:
    found = (WAYS | CPLUSPLUS)[way]
    return found.runner(CODECS[found.target], folders.mktemp("codec"))


# -- golden files


def named_tests(path: Path) -> Iterator[str]:
    """Yield what each test of a golden file is called."""
    file = read(path)
    for case in file.cases:
        for promise in case.promises or ("invalid",):
            yield f"{file.protocol}/v{file.version} {case.id} {promise}"
    for pose in file.poses:
        yield f"{file.protocol}/v{file.version} {pose.id} {pose.direction}"


@pytest.mark.parametrize("way", [*WAYS, *CPLUSPLUS])
def test_golden_files_hold(tmp_path_factory: pytest.TempPathFactory, way: str) -> None:
    names = [name for path in FIXTURES for name in named_tests(path)]
    told = [f"ok {number} - {name}" for number, name in enumerate(names, 1)]
    assert golden(runner(way, tmp_path_factory), *FIXTURES) == (
        0, ["TAP version 14", *told, f"1..{len(names)}"], ""
    )  # fmt: skip
    assert len(names) > 500


SPOILED = {
    "record": ('"a": -16363', '"a": -16364', "article-fixed-sample decode-old"),
    "bytes": ('"bytes": "03', '"bytes": "02', "article-fixed-sample decode-old"),
    "code": ('"code": "truncated"', '"code": "constant"', "invalid"),
    "byte": ('"byte": 3', '"byte": 2', "invalid"),
    "pose": ('"bdce9d34", "3f687135"]', '"bdce9d34", "3f687136"]', "decode-article-sample decode"),
}


@every_way
@pytest.mark.parametrize(("old", "new", "case"), SPOILED.values(), ids=SPOILED)
def test_a_golden_file_that_does_not_hold_fails(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, way: str, old: str, new: str, case: str
) -> None:
    text = Path("fixtures/rotation/v1.json").read_text("utf-8")
    assert old in text
    (tmp_path / "v1.json").write_text(text.replace(old, new, 1), "utf-8")
    code, lines, _ = golden(runner(way, tmp_path_factory), tmp_path / "v1.json")
    failed = [number for number, line in enumerate(lines) if line.startswith("not ok ")]
    # The record of a case is that of both of its promises, or it is not the record that was built.
    assert (code, len(failed)) == (1, 2 if case.endswith("decode-old") else 1)
    assert case in lines[failed[0]]
    block = lines[failed[0] + 1 : lines.index("  ...") + 1]
    keys = [line.split(":")[0] for line in block if not line.startswith("    ")]
    assert {"  ---", "  found", "  wanted", "  ..."} <= set(keys)


@every_way
def test_a_golden_file_of_another_layout_is_told(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, way: str
) -> None:
    file = json.loads(Path("fixtures/rotation/v1.json").read_text("utf-8"))
    other = f"sha256:{'0' * 64}"
    (tmp_path / "v1.json").write_text(json.dumps(file | {"digest": other}))
    code, lines, _ = golden(runner(way, tmp_path_factory), tmp_path / "v1.json")
    failed = [line for line in lines if line.startswith("not ok ")]
    assert (code, failed) == (1, ["not ok 1 - rotation/v1 digest"])
    assert file["digest"] in "\n".join(lines[:8]) and other in "\n".join(lines[:8])


UNREADABLE = {
    "empty": "",
    "no golden file": "{}",
    "another protocol": '{"format": "wirelock-golden/1", "protocol": "chess", "version": 1, "cases": []}',
    "another version": '{"format": "wirelock-golden/1", "protocol": "rotation", "version": 9, "cases": []}',
    "missing": None,
}


@every_way
@pytest.mark.parametrize("text", UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_run_is_no_success(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, way: str, text: str | None
) -> None:
    if text is not None:
        (tmp_path / "v1.json").write_text(text)
    code, _, said = golden(runner(way, tmp_path_factory), tmp_path / "v1.json")
    assert code == 2 and said.count("\n") == 1 and "v1.json" in said


# -- tables


def differing(command: list[str], table: Table, *, floats_apart: bool = True) -> list[tuple[str, str, str]]:
    """Return each request whose answer is another one than is wanted: request, answer, wanted."""
    answers = ask(command, (request for request, _ in table))
    return [
        (request, answer, right)
        for (request, right), answer in zip(table, answers, strict=True)
        if answer != right and parts(answer, floats_apart) != parts(right, floats_apart)
    ]


def parts(answer: str, floats_apart: bool) -> tuple[str, Any]:
    """Return an answer's words and its JSON, in which floats are told apart bit by bit."""

    def real(digits: str) -> str:
        return float(digits).hex()

    def integer(digits: str) -> Any:
        return int(digits) if floats_apart or abs(int(digits)) > 1 << 53 else real(digits)

    words, _, record = answer.partition(" {")
    return words, record and json.loads("{" + record, parse_float=real, parse_int=integer)


def spaced(numbers: Any) -> str:
    return " ".join(map(str, numbers))


def hexed(*numbers: float) -> str:
    return struct.pack(f">{len(numbers)}f", *numbers).hex(" ", 4)


def quaternions() -> Table:
    """Return 100 000 of any length and near ties, each encoded, and what comes out decoded."""
    dice = np.random.default_rng(5)
    found = dice.standard_normal((100_000, 4)).astype(np.float32)
    found[::5] *= np.float32(1e-6)
    found[1::5, 1] = found[1::5, 0]
    found[2::5] = np.sign(found[2::5]) * (0.5 + dice.integers(-3, 4, (20_000, 4)) * 2.0**-16)
    packets = quaternion.encode_array(found, on_error="mask")
    kept = packets.compressed().reshape(-1, 4)
    encoded = ["fault out-of-range" if row[0] is None else f"ok {spaced(row)}" for row in packets.tolist()]
    asked = [f"encode 16 0 {hexed(*row)}" for row in found.tolist()]
    table = [*zip(asked, encoded, strict=True)]
    for packet, unit in zip(kept.tolist(), quaternion.decode_array(kept).tolist(), strict=True):
        table.append((f"decode 16 0 {spaced(packet)}", f"ok {hexed(*unit)}"))
    return table


def widths() -> Table:
    """Return packets of every width and form, most of which no encoder wrote, and quaternions at the ends."""
    dice, table = random.Random(8), []
    for bits, canonical in ((bits, canonical) for bits in range(4, 17) for canonical in (False, True)):
        limit, form = quaternion.width(bits).limit, f"{bits} {canonical:d}"
        for number in range(600):
            a, b, kept = (dice.randint(-limit - 1, limit + 1) for _ in range(3))
            packet = [dice.randint(-1, 4), -b if number % 3 == 0 else a, b, kept]
            if number % 2:
                packet[1:] = [round(component * 0.7) for component in packet[1:]]
            q = [dice.gauss(0, 1) * 10 ** (dice.uniform(-8, 19) if number % 10 == 0 else 0) for _ in range(4)]
            if number % 5 == 1:  # near ties
                q = [dice.choice((-0.5, 0.5, 0, 1)) * (1 + dice.uniform(-1e-7, 1e-7)) for _ in range(4)]
            try:
                unit = quaternion.decode(*packet, bits=bits, canonical=canonical)
            except DecodeError as error:
                table.append((f"decode {form} {spaced(packet)}", f"fault {error.code}"))
            else:
                table.append((f"decode {form} {spaced(packet)}", f"ok {hexed(*unit)}"))
                q = [*unit] if number % 4 == 0 else q
            try:
                again = f"ok {spaced(quaternion.encode(*q, bits=bits, canonical=canonical))}"
            except EncodeError as error:
                again = f"fault {error.code}"
            table.append((f"encode {form} {hexed(*q)}", again))
    return table


def dispatch() -> Table:
    """Return datagrams with every tag, every prefix and a byte too many, of the versions that there are."""
    snapshot, whole = PROTOCOLS["snapshot"], bytes.fromhex("575302070000000000")
    tries = [whole[:end] for end in range(len(whole) + 1)] + [whole + b"\0", b"X", b"XS", b"WS\x09"]
    tries += [bytes([*whole[:at], octet, *whole[at + 1 :]]) for at in range(3) for octet in range(256)]
    table = [(f"parse snapshot/v1 {whole.hex()}", "fault constant 2 - version")]
    for octets in tries:
        try:
            record = snapshot.parse(octets)
        except DecodeError as error:
            right = refused(Fault(error.code, error.path, error.byte, error.bit))
        else:
            right = f"ok {snapshot.number_of(record)} {octets.hex()} {record.model_dump_json()}"
        table.append((f"receive snapshot {octets.hex() or '-'}", right))
    return table


def hellos(protocol: Protocol) -> Iterator[str]:
    """Yield what peers could say: versions left out, parts of other layouts, and texts that are no hello."""
    text = protocol.hello().to_json()
    yield from (text, text[:-1], text.replace('"3":', '"4":'), text.replace('"tick":"', '"tick":"0000'))
    yield from (text.replace(protocol.name, "other"), "[" * 200 + "]" * 200, "{}", "[]", "null", "no hello")
    yield f'{{"wirelock_hello": 2, "protocol": "{protocol.name}", "versions": {{}}}}'
    yield from (other.hello().to_json() for other in PROTOCOLS)
    for version, offer in json.loads(text)["versions"].items():
        yield protocol.as_of(int(version)).hello().to_json()
        for part in (*offer["parts"], "more"):
            changed = {"fingerprint": "0" * 16, "parts": {**offer["parts"], part: "00000000"}}
            yield json.dumps({**json.loads(text), "versions": {version: changed}})


def negotiation() -> Table:
    table = []
    for protocol in PROTOCOLS:
        for hello in hellos(protocol):
            try:
                right = f"ok {protocol.negotiate(hello).version}"
            except NegotiationError as error:
                right = f"fault {getattr(error.disagreement, 'path', '') or '-'}"
            table.append((f"negotiate {protocol.name} {hello}", right))
    return table


TABLES = {made.__name__: functools.cache(made) for made in (quaternions, widths, dispatch, negotiation)}


@every_way
@pytest.mark.parametrize("name", TABLES)
def test_requests_are_answered_as_by_the_library(
    tmp_path_factory: pytest.TempPathFactory, way: str, name: str
) -> None:
    assert differing(runner(way, tmp_path_factory), TABLES[name]())[:5] == []


# -- datagrams of several records


class Ping(
    Record,
    layout=c.Struct(
        "magic" / c.Const(b"PI"),
        "version" / c.Const(1, c.Int8ub),
        "size" / c.Int8ub,
        "text" / c.CString("utf-8"),
    ),
):
    """A record that is sent several at once."""

    magic: bytes = derived()
    version: int = derived()
    size: Annotated[int, Le(3)]
    text: str


PING = Protocol("ping", {1: Ping}, tag=("magic", "version"), repeats=True)
ONE = b"PI\1\1a\0"
DATAGRAMS = [
    ONE, 2 * ONE, 3 * ONE, b"", b"X", ONE + b"PI", ONE + b"XX\1", ONE + b"PI\2", ONE + b"PI\1\x09a\0",
    ONE[:-1], ONE + ONE[:-1],
]  # fmt: skip


@pytest.mark.parametrize("way", ["gcc", "mono", "coreclr", "node"])
def test_datagrams_of_several_records(tmp_path: Path, way: str) -> None:
    ending = {"c": "c", "csharp": "cs", "typescript": "ts"}[WAYS[way].target]
    client = Path(__file__).with_name(f"several.{ending}").read_text("utf-8")
    name = f"several{'_test' * (ending == 'c')}.{ending}"
    files = {**export([PING], WAYS[way].target, name="game"), name: client}
    told = []
    for datagram in DATAGRAMS:
        try:
            told.append(str(len([*PING.parse_all(datagram)])))
        except DecodeError as error:
            told.append(f"{error.code} {error.byte} {error.path}")
    assert run([*WAYS[way].runner(files, tmp_path), *(item.hex() for item in DATAGRAMS)]).splitlines() == told


# -- random layouts


FLOATS = c.Struct(
    "half" / c.Float16b, "single" / c.Float32b, "double" / c.Float64b, "count" / c.Int8ub,
    "singles" / c.Array(c.this.count, c.Float32l), "doubles" / c.Array(c.this.count, c.Float64l),
)  # fmt: skip


GRID = c.Array(3, c.Array(2, c.Int16sb))
PAIRS = c.Array(2, c.Array(2, c.Byte))
HELD = {
    "grid": GRID,
    "case": c.Switch(c.this.kind, {1: c.Int8ub, 2: GRID}, default=c.Pass),
    "absent": c.If(c.this.kind != 9, GRID),
    "absent_case": c.If(c.this.kind != 9, c.Switch(c.this.kind, {2: GRID}, default=c.Int8ub)),
    "counted": c.Array(c.this.kind, GRID),
    "records": c.Array(2, c.Struct("inner" / PAIRS)),
    "cases": c.Array(2, c.Switch(c.this.kind, {2: PAIRS}, default=c.Int8ub)),
    "some": c.Array(2, c.If(c.this.kind == 2, PAIRS)),
}
"""Lists of a fixed size that are made before they are read, in each other and in whatever may be absent."""


def floats() -> Iterator[bytes]:
    """Yield every kind of float of each width: NaN payloads, the quiet and the signalling, and signs."""
    dice = random.Random(5)
    for _ in range(3000):
        raw = []
        for width, fraction in ((16, 10), (32, 23), (64, 52), (32, 23), (64, 52)):
            exponents = width - 1 - fraction
            exponent = dice.choice((0, (1 << exponents) - 1, dice.getrandbits(exponents)))
            payload = dice.choice(
                (0, 1, dice.getrandbits(fraction), 1 << fraction - 1 | dice.getrandbits(fraction))
            )
            raw.append(dice.getrandbits(1) << width - 1 | exponent << fraction | payload)
        yield struct.pack(">HIQB", *raw[:3], 1) + struct.pack("<IQ", *raw[3:])


@functools.cache
def drawn() -> Mapping[str, tuple[Layout, list[bytes]]]:
    """Return layouts that can be exported, with bytes that are or are not records of them."""
    kinds = [bytes([kind, *range(size)]) for kind in (1, 2, 3, 9) for size in range(26)]
    found = {"floats": (name_layout(walk(FLOATS))[0], [*floats()])}
    for name, held in HELD.items():
        schema = c.Struct("kind" / c.Int8ub, "held" / held)
        found[name] = name_layout(walk(schema))[0], kinds

    @settings(
        max_examples=150, deadline=None, database=None, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(st.data())
    def collect(data: st.DataObject) -> None:
        layout, _ = name_layout(data.draw(lowered(walk(data.draw(layouts())))))
        try:
            program_of({"drawn": layout}, target="test")
        except ExportError:
            return
        octets = data.draw(samples(layout))[0]
        tries = [octets, octets + b"\0", data.draw(st.binary(max_size=24))]
        tries += [data.draw(mutated(octets)) for _ in range(6)]
        tries += [octets[:end] for end in {*range(min(len(octets), 24)), len(octets) // 2}]
        tries += [
            octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]
            for at in range(min(len(octets), 16))
            for bit in range(8)
        ]
        found[f"drawn{len(found)}"] = layout, tries

    collect()
    return found


@functools.cache
def layouts_read() -> Table:
    """Return the verdict, code, byte, bit and path; the bytes again, and the record as JSON."""
    table = []
    for name, (layout, tries) in drawn().items():
        machine = Machine(program_of({name: layout}, target="test"))
        root = machine.program.protocols[0].versions[0].record
        for octets in tries:
            fault = wanted(layout, octets)
            if fault is None:
                held, _ = machine.parse(root, octets)
                assert isinstance(held, Held)
                right = f"ok {octets.hex() or '-'} {machine.tell(held)}"
            else:
                right = refused(fault)
            table.append((f"parse {name}/v1 {octets.hex() or '-'}", right))
    assert len(table) > 4000
    return table


@pytest.mark.parametrize("way", ["gcc", "mono", "mono-wide", "coreclr", "node"])
def test_random_layouts_read_as_the_engines_do(tmp_path: Path, way: str) -> None:
    """All layouts in one program of each language, and the same bytes for each."""
    target = WAYS[way].target
    named = {name: layout for name, (layout, _) in drawn().items()}
    files = import_module(f"wirelock.export.{target}.codec").export(
        program_of(named, target=target), "drawn", tests=True
    )
    # Compilers warn where the condition of a random layout always holds, or never.
    quiet = {"csharp": "#pragma warning disable\n", "c": '#pragma GCC diagnostic ignored "-Wtype-limits"\n'}
    files = {path: quiet.get(target, "") + text for path, text in files.items()}
    wrong = differing(WAYS[way].runner(files, tmp_path), layouts_read(), floats_apart=target != "typescript")
    assert [(named[item[0].split()[1][:-3]], *item) for item in wrong[:5]] == []
