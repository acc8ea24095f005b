"""The documents are true: commands, tables and links."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from wirelock.capture.arrow.files import GROUP_BYTES, GROUP_ROWS
from wirelock.capture.arrow.tables import BATCH_BYTES, BATCH_ROWS
from wirelock.capture.datagrams import DATAGRAM_FAULTS, PACKET_FAULTS
from wirelock.capture.files import FILE_FAULTS
from wirelock.capture.upgrade import MIGRATION_FAULTS
from wirelock.errors import CODES
from wirelock.evolve.rules import RULES
from wirelock.evolve.search import MUTATED, OCTETS, PACKETS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_table_of_codes_is_the_one_in_the_code() -> None:
    page = (ROOT / "docs/errors.md").read_text("utf-8").split("## Codes")[1]
    rows = re.findall(r"^\| ([a-z:NAME-]+) \| (.+) \|$", page, re.M)
    assert [row for row in rows if row[0] != "code"] == [
        (code, meaning) for code, (_, meaning) in CODES.items()
    ]


@pytest.mark.parametrize(
    ("heading", "codes"),
    [("Of the file", FILE_FAULTS), ("Of a packet", PACKET_FAULTS), ("Of a datagram", DATAGRAM_FAULTS)],
)
def test_the_tables_of_capture_faults_are_those_in_the_code(heading: str, codes: dict[str, str]) -> None:
    page = (ROOT / "docs/decode.md").read_text("utf-8").split(f"\n{heading}")[1]
    rows = re.findall(r"^\| ([a-z-]+) \| (.+) \|$", page.split("\n\n")[1], re.M)
    assert rows[1:] == list(codes.items())


def test_the_table_of_migration_faults_is_the_one_in_the_code() -> None:
    page = (ROOT / "docs/decode.md").read_text("utf-8").split("\nOf a record, where")[1]
    rows = re.findall(r"^\| ([a-z-]+) \| (.+) \|$", page.split("\n\n")[1], re.M)
    assert rows[1:] == list(MIGRATION_FAULTS.items())


@pytest.mark.parametrize(
    ("page", "heading"), [("README.md", "Captures as tables"), ("docs/decode.md", "Tables")]
)
def test_tables_of_the_documents_are_read_as_shown(page: str, heading: str, tmp_path: Path) -> None:
    text = (ROOT / page).read_text("utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    for command in re.findall(r"^(?:\.venv/bin/)?wirelock (.*)$", text, re.M):
        call = [sys.executable, "-m", "wirelock", *command.split(), "--protocols", "protocol:PROTOCOLS"]
        call = [str(ROOT / word) if word.startswith("fixtures/") else word for word in call]
        where = {**os.environ, "PYTHONPATH": str(ROOT)}
        subprocess.run(call, cwd=tmp_path, env=where, capture_output=True, check=True)
    blocks = re.findall(r"```py(?:thon)?\n(.*?)```\n\n```text\n(.*?)```|```python\n(.*?)```", text, re.S)
    assert blocks
    for source, shown, _ in blocks:
        run = subprocess.run([sys.executable, "-c", source], cwd=tmp_path, capture_output=True, text=True)
        assert run.stdout == shown, run.stderr


def test_decoding_in_python_prints_what_the_page_shows() -> None:
    section = (ROOT / "docs/decode.md").read_text("utf-8").split("\n## In Python\n")[1]
    source, shown = re.findall(r"```(?:python|text)\n(.*?)```", section, re.S)
    run = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True)
    assert run.stdout == shown, run.stderr


FIRST = {"duckdb": """rows.project('"record.magic"').fetchall()[0][0]""", "polars": 'rows["record.magic"][0]'}


@pytest.mark.parametrize("reader", FIRST)
def test_bytes_in_csv_are_read_as_text_as_shown(reader: str, tmp_path: Path) -> None:
    page = (ROOT / "docs/decode.md").read_text("utf-8")
    (line,) = re.findall(rf"^rows = {reader}\.read_csv.*$", page, re.M)
    decode = ["decode", "fixtures/captures/session.pcapng", "-o", str(tmp_path / "rows.csv")]
    subprocess.run([sys.executable, "-m", "wirelock", *decode], cwd=ROOT, capture_output=True, check=True)
    script = f"import {reader}\n{line}\nprint(repr({FIRST[reader]}))"
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert run.stdout == "'5753'\n", run.stderr


def test_the_bounds_of_tables_are_those_in_the_code() -> None:
    page = (ROOT / "docs/decode.md").read_text("utf-8")
    assert f"at most {BATCH_ROWS} records, or those of {BATCH_BYTES >> 10} KiB of payload" in page
    assert f"up to {GROUP_BYTES >> 20} MiB of payload or {GROUP_ROWS} rows" in page


def test_the_fields_of_the_page_on_statistics_are_what_is_printed() -> None:
    shown = (ROOT / "docs/stats.md").read_text("utf-8").split("```text\n")[1].split("```")[0]
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", "stats", "fixtures/captures/session.pcapng"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.endswith(shown)


def test_the_table_of_rules_is_the_one_in_the_code() -> None:
    page = (ROOT / "docs/diff.md").read_text("utf-8")
    rows = re.findall(r"^\| ([A-Z_]+) \| ([a-z]+) \| (.+) \|$", page, re.M)
    assert rows == [(rule.id, rule.category, rule.purpose) for rule in RULES.values()]


def test_the_bounds_of_the_search_are_those_in_the_code() -> None:
    page = (ROOT / "docs/diff.md").read_text("utf-8")
    for words in (f"at most {PACKETS} packets", f"of the first {MUTATED}", f"at {OCTETS} bytes"):
        assert words in page


def test_the_end_of_a_diff_with_a_recording_is_what_is_printed() -> None:
    page = (ROOT / "docs/diff.md").read_text("utf-8")
    shown = page.split("it ends with\n\n```text\n")[1].split("```")[0].splitlines()
    command = re.findall(r"^\$ wirelock (diff .* --capture .*)$", page, re.M)[0]
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", *command.split()], cwd=ROOT, capture_output=True, text=True
    )
    printed = run.stdout.splitlines()
    start = printed.index(shown[0])
    assert printed[start : start + 3] == shown[:3]
    assert [shown[3], shown[4]] == ["…", printed[-1]]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(((?!https:)[^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_ci_runs_the_command_of_the_readme() -> None:
    commands = re.findall(r"^(python3 -m venv .*)$", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci/run").read_text("utf-8")


def test_the_readme_shows_what_decode_prints() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    shown = text.split("```text\n")[1].split("```")[0].splitlines()
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", "decode", "fixtures/captures/session.pcapng"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    printed = run.stdout.splitlines() + run.stderr.splitlines()
    for line in shown:
        start = line.rstrip("…").rstrip()
        assert not start or any(known.startswith(start) for known in printed), line


@pytest.mark.parametrize(
    ("page", "least"),
    [
        ("README.md", 2),
        ("docs/columns.md", 5),
        ("docs/constructs.md", 1),
        ("docs/diff.md", 1),
        ("docs/protocols.md", 3),
        ("docs/verify.md", 3),
    ],
)
def test_the_python_of_the_documents_runs(page: str, least: int, tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text("utf-8"), re.S)
    assert len(blocks) >= least
    script = tmp_path / "readme.py"
    script.write_text("\n".join(blocks), "utf-8")
    run = subprocess.run(
        [sys.executable, str(script)],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr


def test_the_commands_for_contract_tests_run_in_order(tmp_path: Path) -> None:
    for name in ("protocol", "fixtures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.copy(ROOT / "fixtures/captures/session.pcapng", tmp_path)
    (tmp_path / "tests").mkdir()
    page = (ROOT / "docs/contract-tests.md").read_text("utf-8")
    blocks = "".join(re.findall(r"```sh\n(.*?)```", page, re.S))
    commands = [shlex.split(line, comments=True) for line in blocks.splitlines()]
    assert len(commands) == 6
    for word, *arguments in commands:
        call = [sys.executable, "-m", word, *arguments]
        call += ["fixtures", "-p", "no:cacheprovider"] if word == "pytest" else []
        run = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == 0, (arguments, run.stdout, run.stderr)


def sessions() -> list[tuple[str, str, list[str]]]:
    """Return (page, command, what it prints) for each console of a page that needs no other project."""
    found = []
    for page in PAGES:
        if page.name == "versions.md":  # it has a project of its own, see test_docs_versions.py
            continue
        for block in re.findall(
            r"```console\n\$ wirelock ((?:capture|diff|inspect|show|golden|verify|compare|stats) .*?)```",
            page.read_text("utf-8"),
            re.S,
        ):
            command, *shown = block.splitlines()
            found.append((page.name, command, shown))
    return found


@pytest.mark.parametrize(("page", "command", "shown"), sessions(), ids=lambda item: str(item)[:40])
def test_the_documents_show_what_commands_print(page: str, command: str, shown: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", *command.split()], cwd=ROOT, capture_output=True, text=True
    )
    printed = (run.stdout + run.stderr).splitlines()
    if shown[-1] == "…":
        shown, printed = shown[:-1], printed[: len(shown) - 1]
    assert shown == printed


def test_the_drawing_of_the_documents_is_what_show_prints() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", "show", "snapshot/v2", "--svg"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert (ROOT / "docs/snapshot-v2.svg").read_text("utf-8") == run.stdout


def readme_commands() -> list[str]:
    text = (ROOT / "README.md").read_text("utf-8")
    return re.findall(r"^\.venv/bin/wirelock (.*?) *(?:#.*)?$", text, re.M)


@pytest.mark.parametrize("command", readme_commands())
def test_the_commands_of_the_readme_run(command: str, tmp_path: Path) -> None:
    for name in ("protocol", "fixtures"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    run = subprocess.run(
        [sys.executable, "-m", "wirelock", *command.split()], cwd=tmp_path, capture_output=True, text=True
    )
    expected = 1 if command.startswith("diff ") else 0  # the README compares two versions that differ
    assert run.returncode == expected, run.stderr
    assert "Traceback" not in run.stderr
