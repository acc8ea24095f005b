"""Statistics as one HTML page: plots as inline SVG, and beside each the table of its figures.

Self-contained: no scripts, nothing from a network, no fonts but the reader's own, colours for light and dark.
Every bar says what it is when it is pointed at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from wirelock.capture.stats import Statistics, VersionCost
from wirelock.capture.timeline import Timeline
from wirelock.capture.words import (
    FIELD_HEAD,
    GROUP_HEAD,
    field_rows,
    group_rows,
    intervals_text,
    round_ticks,
    seconds_text,
    series_of,
    since_start,
    speed_text,
    tick_text,
    time_head,
    time_rows,
    version_text,
)
from wirelock.shown import escaped

__all__ = ["page_of"]

_WIDTH: Final = 640
_HEIGHT: Final = 220
_LEFT: Final = 64
_RIGHT: Final = 12
_TOP: Final = 12
_BOTTOM: Final = 34
_COLOURS: Final = 8
"""How many series have a colour of their own; the ninth has that of the first."""

_STYLE: Final = """\
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --line: #d1d9e0; --back: #ffffff;
  --card: #f6f8fa; --c0: #2f6fd0; --c1: #e08a1e; --c2: #1d8a5f; --c3: #b0487f; --c4: #7a5cc9; --c5: #6b7a1f;
  --c6: #148a9c; --c7: #c0402f }
@media (prefers-color-scheme: dark) {
  :root { --ink: #f0f6fc; --soft: #9198a1; --line: #3d444d; --back: #0d1117; --card: #151b23; --c0: #6ea8fe;
    --c1: #f2b25c; --c2: #4cc38a; --c3: #e283b3; --c4: #b39bf5; --c5: #b7c65a; --c6: #58c7d8; --c7: #f08a7b }
}
* { box-sizing: border-box }
body { margin: 0 auto; padding: 24px; max-width: 1400px; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere }
h2 { font-size: 17px; margin: 32px 0 8px }
p { margin: 0 0 8px; color: var(--soft) }
.sums { margin-top: 16px }
.facts { display: flex; flex-wrap: wrap; gap: 8px; margin: 12px 0; padding: 0; list-style: none }
.facts li { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px }
.facts b { font-variant-numeric: tabular-nums }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 20px; align-items: start }
.wide { grid-template-columns: minmax(0, 1fr) }
@media (max-width: 900px) { .pair { grid-template-columns: minmax(0, 1fr) } }
figure { margin: 0 0 12px; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
  padding: 12px }
figcaption { font-weight: 600; margin-bottom: 4px }
svg { display: block; width: 100%; height: auto }
svg text { font: 12px system-ui, sans-serif; fill: var(--soft) }
.grid { stroke: var(--line) }
.axis { stroke: var(--soft) }
.key { display: flex; flex-wrap: wrap; gap: 4px 14px; margin: 6px 0 0; padding: 0; list-style: none;
  font-size: 13px }
.key i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px }
.scroll { overflow: auto; max-height: 1180px; border: 1px solid var(--line); border-radius: 8px }
table { border-collapse: collapse; width: 100%; font-size: 13px; font-variant-numeric: tabular-nums }
th, td { padding: 3px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line) }
th { position: sticky; top: 0; background: var(--card); font-weight: 600 }
tr:last-child td { border-bottom: 0 }
td.text, th.text { text-align: left }
td.path { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
tr.all td { font-weight: 600; border-top: 2px solid var(--line) }
td.zero { color: var(--soft); opacity: 0.55 }
td.bar { min-width: 140px }
.bar i { display: block; height: 12px; border-radius: 2px; background: var(--c0) }
""" + "\n".join(f".s{n} {{ fill: var(--c{n}); background: var(--c{n}) }}" for n in range(_COLOURS))


def page_of(stats: Statistics, files: Sequence[str]) -> str:
    """Return the page, which ends with a newline; `files` are the names of the captures."""
    title = f"wirelock stats: {', '.join(map(escaped, files))}"
    head = [
        "<!doctype html>", '<html lang="en">', '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>", f"<style>\n{_STYLE}\n</style>",
    ]  # fmt: skip
    return "\n".join([*head, *_facts(stats, files), *_over_time(stats), *_versions(stats), "</html>"]) + "\n"


def _facts(stats: Statistics, files: Sequence[str]) -> Iterator[str]:
    summary = stats.summary
    yield f"<h1>{escape(', '.join(map(escaped, files)))}</h1>"
    duration = summary.duration_ns
    rate = stats.rate(8 * summary.bytes)
    told = "No two datagrams have a time."
    if duration and rate is not None:
        told = f"{duration / 1e9:.3f} s, {speed_text(rate)} as captured, with all headers."
    yield f"<p>{told}</p>"
    facts = [(summary.packets, "packets"), (summary.bytes, "bytes")]
    facts += [(count, name) for name, count in sorted(summary.records.items())]
    facts += [(summary.foreign, "foreign"), (summary.other_ports, "of other ports")]
    facts += [(count, f"{name} packets") for name, count in sorted(summary.other_traffic.items())]
    facts += [(count, f"fault {code}") for code, count in sorted(summary.faults.items())]
    yield '<ul class="facts">'
    yield from (f"<li><b>{count}</b> {escape(name)}</li>" for count, name in facts if count)
    yield "</ul>"


# -- over time


def _over_time(stats: Statistics) -> Iterator[str]:
    timeline = stats.timeline
    if not timeline.intervals():
        return
    yield f"<h2>Over time</h2><p>Each bar and each row is {intervals_text(timeline)}.</p>"
    yield '<div class="pair"><div>'
    per_second = 1e9 / timeline.width_ns
    yield from _bars("Packets", timeline, [("packets", timeline.each(lambda it: it.packets))], 0)
    bits = [round(8 * per_second * octets) for octets in timeline.each(lambda it: it.bytes)]
    yield from _bars("Bits a second, as captured", timeline, [("bit/s", bits)], 1)
    for kind, caption in (("record", "Records by version"), ("fault", "Faults by code")):
        key = [
            (one[1], timeline.each(lambda it, one=one: it.counts[one]))  # type: ignore[misc]
            for one in series_of(timeline)
            if one[0] == kind
        ]
        if key:
            yield from _bars(caption, timeline, key, 0 if kind == "record" else 7)
    yield "</div>"
    rows = [[_cell(cell) for cell in row] for row in time_rows(timeline)]
    yield from _table([(name, "") for name in time_head(timeline)], rows)
    yield "</div>"


def _bars(
    caption: str, timeline: Timeline, series: Sequence[tuple[str, Sequence[int]]], first_colour: int
) -> Iterator[str]:
    """Yield a figure of bars over time, those of several series one upon the other."""
    starts = [start for start, _ in timeline.intervals()]
    tops = [sum(values) for values in zip(*(values for _, values in series), strict=True)]
    ticks = round_ticks(max(tops))
    height, step = _HEIGHT - _TOP - _BOTTOM, (_WIDTH - _LEFT - _RIGHT) / len(starts)
    scale, base = height / ticks[-1], _HEIGHT - _BOTTOM
    yield f"<figure><figcaption>{escape(caption)}</figcaption>"
    yield f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(caption)} over time">'
    for tick in ticks:
        y = base - tick * scale
        kind = "grid" if tick else "axis"
        yield f'<line class="{kind}" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick_text(tick)}</text>'
    gap = min(1.0, step / 6)
    for at, start in enumerate(starts):
        y = float(base)
        for number, (name, values) in enumerate(series):
            if not values[at]:
                continue
            y -= values[at] * scale
            told = f"{since_start(start, timeline)} s: {values[at]} {name}"
            colour = (first_colour + number) % _COLOURS
            yield (
                f'<rect class="s{colour}" x="{_LEFT + at * step:.2f}" y="{y:.2f}" width="{step - gap:.2f}"'
                f' height="{values[at] * scale:.2f}"><title>{escape(told)}</title></rect>'
            )
    for tick in round_ticks(timeline.width_ns * len(starts), 7)[:-1]:
        x, told = _LEFT + tick / timeline.width_ns * step, seconds_text(tick)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{base}" y2="{base + 4}"/>'
        if x + 4 * len(told) <= _WIDTH:
            yield f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">{told}</text>'
    yield f'<text x="{_WIDTH - _RIGHT}" y="{_HEIGHT - 3}" text-anchor="end">seconds</text></svg>'
    if len(series) > 1 or first_colour == 7:
        yield '<ul class="key">'
        for number, (name, _) in enumerate(series):
            yield f'<li><i class="s{(first_colour + number) % _COLOURS}"></i>{escape(name)}</li>'
        yield "</ul>"
    yield "</figure>"


# -- fields


def _versions(stats: Statistics) -> Iterator[str]:
    for found in stats.versions():
        yield f"<h2>{escape(found.label)}: what each field costs</h2>"
        yield f"<p>{escape(version_text(found, stats).partition(': ')[2])}</p>"
        yield from _costs(found, stats)


def _costs(found: VersionCost, stats: Statistics) -> Iterator[str]:
    most = max((cost.bits for cost in found.fields), default=1)
    bits = [found.skipped] if found.skipped else []
    bits += [cost.bits for cost in found.fields]
    rows = []
    for number, cells in enumerate(field_rows(found, stats)):
        name, kind, *figures = map(escape, cells)
        row = [f'<td class="text path">{name}</td>', f'<td class="text">{kind}</td>']
        row += map(_cell, figures)
        width = 100 * bits[number] / max(most, found.skipped) if number < len(bits) else 0.0
        row.append(f'<td class="bar"><i style="width: {width:.1f}%"></i></td>' if width else "<td></td>")
        rows.append(row)
    heads = [(name, "text" if at < 2 else "") for at, name in enumerate(FIELD_HEAD)]
    yield '<div class="pair wide">'
    yield from _table([*heads, ("", "")], rows, last="all")
    yield "</div>"
    if found.groups:
        yield '<p class="sums">Sums of rows above, which are in each group around them.</p>'
        sums = [
            [f'<td class="text path">{escape(name)}</td>', *map(_cell, figures)]
            for name, *figures in group_rows(found, stats)
        ]
        yield from _table([(name, "" if at else "text") for at, name in enumerate(GROUP_HEAD)], sums)


def _cell(text: str) -> str:
    return f'<td class="zero">{text}</td>' if text == "0" else f"<td>{text}</td>"


def _table(heads: Iterable[tuple[str, str]], rows: Sequence[Sequence[str]], last: str = "") -> Iterator[str]:
    """Yield a table; a head is a text and a class, a cell is markup, `last` the class of the last row."""
    yield '<div class="scroll"><table><thead><tr>'
    yield "".join(
        f'<th class="{kind}">{escape(text)}</th>' if kind else f"<th>{escape(text)}</th>"
        for text, kind in heads
    )
    yield "</tr></thead><tbody>"
    for number, row in enumerate(rows):
        kind = f' class="{last}"' if last and number == len(rows) - 1 else ""
        yield f"<tr{kind}>{''.join(row)}</tr>"
    yield "</tbody></table></div>"
