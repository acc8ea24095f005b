"""`wirelock stats`: its figures beside those of decode, and its page as a browser shows it."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.command import (
    ROTATION,
    SESSION,
    V1,
    V2,
    capture_of,
    payloads_of,
    refused,
    run,
    session,
    write,
)
from wirelock.capture.words import round_ticks, speed_text
from wirelock.cli.stats import command

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def stats(*arguments, **options):
    outcome = run("stats", *arguments, **options)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out


def figures(*arguments, **options):
    return json.loads(stats(*arguments, "--format", "json", **options))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The figures of the session, and its page."""
    page = tmp_path_factory.mktemp("stats") / "a page.html"
    return figures(SESSION, "--html", page), page


# -- figures


def test_the_counts_are_those_of_decode(found):
    summary = session().err.splitlines()[-9:]
    told = found[0]
    assert summary[0] == f"{told['packets']} packets, {told['bytes']} bytes, 0.413301184 s"
    assert told["duration_ns"] == "413301184"
    assert told["records"] == {"snapshot v1": 152, "snapshot v2": 152}
    assert told["faults"] == {
        "out-of-range": 4, "rule:reachable": 2, "trailing-bytes": 2, "truncated": 6, "unknown-version": 2,
    }  # fmt: skip
    assert (told["foreign"], told["datagrams"], told["other_traffic"]) == (40, 360, {})


def test_the_intervals_sum_up_to_all_of_it(found):
    told, rows = found[0], found[0]["over_time"]
    assert told["interval_ns"] == "10000000"
    assert sum(row["packets"] for row in rows) == 360
    assert sum(row["bytes"] for row in rows) == told["bytes"]
    for kind in ("records", "faults"):
        names = told[kind]
        assert {name: sum(row[kind].get(name, 0) for row in rows) for name in names} == names
    starts = [int(row["start_ns"]) for row in rows]
    assert starts == list(range(starts[0], starts[-1] + 1, 10_000_000))
    assert starts[0] <= int(told["first_ns"]) < starts[0] + 10_000_000


@pytest.mark.parametrize("version", [1, 2])
def test_the_fields_of_a_version_are_all_of_its_payload(found, version):
    lines = [json.loads(line) for line in session("--format", "jsonl").out.splitlines()]
    rows = [row for row in lines if row["version"] == version]
    payloads = payloads_of(SESSION)
    told = found[0]["bandwidth"][version - 1]
    assert (told["protocol"], told["version"], told["records"]) == ("snapshot", version, len(rows))
    assert told["payload_bits"] == 8 * sum(len(payloads[row["packet"]]) for row in rows)
    assert sum(field["bits"] for field in told["fields"]) == told["payload_bits"]
    assert sum(field["share"] for field in told["fields"]) == pytest.approx(1)
    entities = sum(row["record"]["count"] for row in rows)
    by_path = {field["path"]: field for field in told["fields"]}
    assert by_path["entities[].position.x"]["bits"] == 32 * entities
    assert by_path["entities[].rotation.largest_index"]["bits"] == (8, 2)[version - 1] * entities
    assert by_path["magic"]["values"] == len(rows)
    assert by_path["tick"]["bits_per_second"] == pytest.approx(32 * len(rows) / 0.413301184)


def test_text_has_the_same_figures_in_lines(found):
    lines = stats(SESSION).splitlines()
    assert lines[:9] == session().err.splitlines()[-9:]
    assert lines[9:12] == [
        "", "intervals of 20 ms, from 2026-11-30T02:22:21.660000000Z:", lines[11],
    ]  # fmt: skip
    assert lines[11].split() == [
        "seconds", "packets", "bytes", "snapshot", "v1", "snapshot", "v2", *found[0]["faults"],
    ]  # fmt: skip
    assert sum(int(line.split()[1]) for line in lines[12 : lines.index("", 12)]) == 360
    (tick,) = [line.split() for line in lines if line.split()[:1] == ["tick"]][:1]
    assert tick == ["tick", "uint32", "little-endian", "152", "32.0", "5.35%", "11.8", "k"]
    last = max(at for at, line in enumerate(lines) if not line)
    assert lines[last - 1].split() == ["all", "152", "582.6", "100.00%", "214", "k"]
    assert [line.split()[:2] for line in lines[last + 1 :]] == [
        ["sum", "of"], ["entities[]", "9"], ["entities[].position", "3"], ["entities[].rotation", "5"],
    ]  # fmt: skip


SMALL = {
    "repeating records": (b"PG\1\0\5PG\1\0\6", {"records": 2, "datagrams": 1, "payload_bits": 80}, 0),
    "a fault behind records": (b"PG\1\0\5PG\1\0", {"records": 1, "payload_bits": 40}, 4),
}


@pytest.mark.parametrize("name", SMALL)
def test_records_that_repeat(pings, name):
    payload, wanted, faulty = SMALL[name]
    told = figures(write(pings / "c.pcap", capture_of(payload)), cwd=pings)
    (version,) = told["bandwidth"]
    assert version["protocol"] == "ping"
    assert {key: version[key] for key in wanted} == wanted
    assert told["faulty_bytes"] == faulty
    assert version["bits_per_second"] is None, "one datagram has no duration"


def test_what_is_skipped_is_counted(tmp_path):
    capture = write(tmp_path / "c.pcap", capture_of(b"head" + ROTATION.build(), b"head" + ROTATION.build()))
    arguments = capture, "--as", "rotation/v1", "--skip", "4"
    (version,) = figures(*arguments)["bandwidth"]
    assert version["skipped_bits"] == 64
    assert version["payload_bits"] == 2 * 8 * 11
    assert version["bits_per_second"] == 2 * 8 * 11
    row = next(line for line in stats(*arguments).splitlines() if "(skipped)" in line)
    assert row.split() == ["(skipped)", "before", "the", "record", "2", "32.0", "36.36%", "64.0"]


def test_an_empty_capture_and_a_page_of_it(tmp_path):
    capture = write(tmp_path / "none.pcap", capture_of())
    assert stats(capture, "--html", tmp_path / "p.html").splitlines() == ["0 packets, 0 bytes", "no faults"]
    assert "<h1>" in (tmp_path / "p.html").read_text("utf-8")


WAYS = {
    "all": (),
    "a port": ("--port", "47800"),
    "as a version": ("--as", "snapshot/v2"),
    "behind bytes": ("--skip", "2", "--as", "rotation/v1"),
}


@pytest.mark.parametrize("name", WAYS)
def test_large_captures_come_to_the_same_by_compiled_code(tmp_path, monkeypatch, name):
    cut, found = write(tmp_path / "cut.pcapng", SESSION.read_bytes()[:-5]), []
    for least, other in ((0, "capture.decode.decode"), (1 << 40, "capture.bulk.decode_columns")):
        with monkeypatch.context() as patch:
            patch.setattr("wirelock.capture.bulk.WORTH", least)
            patch.setattr(f"wirelock.{other}", None)
            given = [str(SESSION), str(cut), *WAYS[name], "--format", "json"]
            found.append(CliRunner().invoke(command, given, standalone_mode=False).stdout)
    assert found[0] == found[1]
    assert json.loads(found[0])["files"] == 2


WRONG = {
    "the capture itself": (("--html", "c.pcap"), "c.pcap is one of the captures"),
    "a folder that is not there": (("--html", "no/p.html"), "No such file or directory"),
    "no such port": (("--port", "x"), "--port"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_command_is_one_line(tmp_path, name):
    capture = write(tmp_path / "c.pcap", capture_of(V1))
    before = capture.read_bytes()
    arguments, problem = WRONG[name]
    refused(run("stats", capture, *(str(tmp_path / it) if "." in it else it for it in arguments)), problem)
    assert capture.read_bytes() == before
    assert list(tmp_path.iterdir()) == [capture]


# -- the page


class Outline(HTMLParser):
    """The tags of a page, the text of its cells by table, and whatever would be fetched."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.tables, self.fetched = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.fetched += [value for name, value in attrs if name in ("src", "href", "srcset", "data")]
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_data(self, data):
        if self.tables and self.tables[-1] and self.tables[-1][-1] and self.lasttag in ("td", "th"):
            self.tables[-1][-1][-1] += data.strip()


RAW = """
import construct as c
from wirelock import Protocol, Record, Registry

class RawV1(Record, layout=c.Struct("octets" / c.GreedyRange(c.Byte))):
    octets: tuple[int, ...]

PROTOCOLS = Registry(Protocol("raw", {1: RawV1}))
"""
PROBE = """<script>
const style = getComputedStyle(document.body), far = [];
for (const svg of document.querySelectorAll("svg")) {
  const box = svg.viewBox.baseVal;
  for (const part of svg.querySelectorAll("text, rect")) {
    const b = part.getBBox();
    if (b.x < -1 || b.y < -1 || b.x + b.width > box.width + 1 || b.y + b.height > box.height + 1)
      far.push(part.textContent);
  }
}
const labels = [...document.querySelectorAll("svg text[text-anchor=middle]")]
  .map(it => it.getBoundingClientRect());
document.title = JSON.stringify({
  back: style.backgroundColor, ink: style.color, far, wide: document.documentElement.scrollWidth > innerWidth,
  over: labels.some((it, at) => at && it.top === labels[at - 1].top && it.left < labels[at - 1].right),
  bars: document.querySelectorAll("svg rect").length,
  fill: getComputedStyle(document.querySelector("svg rect")).fill,
})
</script></html>"""


def seen(page, *flags):
    """Return what a browser says of a page: colours, what lies outside of its plot, its DOM."""
    copy = page.with_name("probed.html")
    text = page.read_text("utf-8")
    copy.write_text(text.replace("</html>", PROBE), "utf-8")
    done = subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", *flags,
         f"--user-data-dir={page.parent / 'profile'}", "--dump-dom", copy.as_uri()],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    title = re.search(r"<title>(.*?)</title>", done.stdout, re.S)
    return json.loads(title[1].replace("&quot;", '"').replace("&amp;", "&")), done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_shows_the_page_in_light_and_dark_wide_and_narrow(found):
    told = {}
    for name, flags in {
        "light": ("--window-size=1400,900", "--blink-settings=preferredColorScheme=1"),
        "dark": ("--window-size=1400,900", "--blink-settings=preferredColorScheme=0"),
        "narrow": ("--window-size=500,900",),
    }.items():
        told[name], dom = seen(found[1], *flags)
        assert (told[name]["far"], told[name]["wide"], told[name]["over"]) == ([], False, False)
        outline = Outline(dom)
        assert outline.tags.count("svg") == 4
        assert outline.tags.count("rect") == told[name]["bars"] > 100
    assert told["light"]["back"] == "rgb(255, 255, 255)"
    assert told["dark"]["back"] == "rgb(13, 17, 23)"
    assert told["light"]["ink"] != told["dark"]["ink"]
    assert told["light"]["fill"] != told["dark"]["fill"]


def test_the_page_has_the_figures_in_tables_and_fetches_nothing(found):
    text = found[1].read_text("utf-8")
    outline = Outline(text)
    assert outline.fetched == []
    assert "script" not in outline.tags
    assert not re.search(r"https?:|url\(|@import", text)
    over_time, *versions = outline.tables
    rows = [[int(cell) for cell in row[1:]] for row in over_time[1:]]
    told = found[0]
    assert [sum(column) for column in zip(*rows, strict=True)] == [
        told["packets"], told["bytes"], *told["records"].values(), *told["faults"].values(),
    ]  # fmt: skip
    pairs = zip(versions[::2], versions[1::2], strict=True)
    for (table, sums), version in zip(pairs, told["bandwidth"], strict=True):
        assert [row[0] for row in table[1:]] == [*(field["path"] for field in version["fields"]), "all"]
        shares = [float(row[4].rstrip("%")) for row in table[1:]]
        assert shares[-1] == 100 and sum(shares[:-1]) == pytest.approx(100, abs=0.1)
        assert [(row[0], int(row[1]), row[3]) for row in sums[1:]] == [
            (group["path"], group["fields"], f"{group['share']:.2%}") for group in version["groups"]
        ]


def test_axes_have_round_ticks(found):
    labels = re.findall(r"<text [^>]*>([\d.]+)( [kMG])?</text>", found[1].read_text("utf-8"))
    assert {"0.1", "0.2", "0.3", "0.4"} <= {number for number, prefix in labels if not prefix}
    assert {number.strip("0.")[:1] for number, _ in labels if number.strip("0.")} <= set("123456789")


@given(st.integers(0, 10**30), st.integers(2, 9))
def test_ticks_are_round_and_reach_far_enough(highest, most):
    ticks = round_ticks(highest, most)
    assert ticks[0] == 0 and ticks[-1] >= highest and 2 <= len(ticks) <= most + 1
    assert len({after - before for before, after in pairwise(ticks)}) == 1
    assert str(ticks[1]).rstrip("0") in ("1", "2", "5")


def test_rates_have_a_space_before_their_unit():
    assert [speed_text(rate) for rate in (0, 415, 999.6, 2.5e9)] == [
        "0.00 bit/s", "415 bit/s", "1.00 kbit/s", "2.50 Gbit/s",
    ]  # fmt: skip


def test_groups_are_sums_and_fields_can_be_sorted(found):
    for version in found[0]["bandwidth"]:
        for group in version["groups"]:
            path = group["path"].rstrip("[]")
            inside = [
                field for field in version["fields"] if re.match(rf"{re.escape(path)}\b", field["path"])
            ]
            assert (len(inside), sum(field["bits"] for field in inside)) == (group["fields"], group["bits"])
    ordered = figures(SESSION, "--sort", "bits")
    for version, sorted_one in zip(found[0]["bandwidth"], ordered["bandwidth"], strict=True):
        for name in ("fields", "groups"):
            assert sorted_one[name] == sorted(version[name], key=lambda it: -it["bits"])


def test_records_of_no_bytes_cost_nothing(tmp_path):
    write(tmp_path / "raw.py", RAW)
    capture = write(tmp_path / "c.pcap", capture_of(b"", b""))
    arguments = capture, "--protocols", "raw:PROTOCOLS", "--as", "raw/v1", "--html", tmp_path / "p.html"
    (version,) = figures(*arguments, cwd=tmp_path)["bandwidth"]
    assert (version["records"], version["payload_bits"], version["fields"]) == (2, 0, [])
    lines = stats(*arguments, cwd=tmp_path).splitlines()
    assert lines[-1].split() == ["all", "2", "0.0", "0.00%", "0.00"]


def test_names_are_text_and_no_markup(tmp_path):
    capture = write(tmp_path / "<b>&'\".pcap", capture_of(V1, V2))
    stats(capture, "--html", tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text("utf-8")
    assert "&lt;b&gt;&amp;&#x27;&quot;.pcap</h1>" in text
    assert "<b>&" not in text
