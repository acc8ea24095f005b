"""Optional values that are absent: nothing may be written behind them, or they would be read from that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from wirelock.export import statements as st
from wirelock.export import values as v
from wirelock.export.lower.expressions import all_of, compared, negated, of_type, truth
from wirelock.export.lower.units import POSITION, is_option
from wirelock.export.lower.write_block import Block
from wirelock.export.lower.write_checks import fail_if
from wirelock.export.lower.write_scope import Scope
from wirelock.layout.nodes import Framed, If, Layout, Limited, Optional, Padded, Type, parts_of
from wirelock.layout.sizes import reach_of, size_of

__all__ = ["Absences"]


class Absences:
    """The values of one record, behind each other: which may be absent with others behind them."""

    def __init__(self, scope: Scope, kinds: Sequence[Type]) -> None:
        self.scope = scope
        self._left = [size_of(kind).highest != 0 for kind in kinds]
        self._found: list[tuple[v.Value, v.Local, tuple[st.Step, ...]]] = []

    def behind(self, kind: Type, value: v.Value | None, steps: tuple[st.Step, ...], block: Block) -> None:
        """Note where a value ends that was just written, if it may be absent and others follow."""
        del self._left[0]
        if not any(self._left) or value is None or reach_of(kind) == "own":
            return
        absent = [*_absences(kind, value, steps, self.scope)]
        if absent:
            block.close()
            end = v.Local(block.names.new("end"), POSITION)
            block.add(st.Let(end, v.Written()))
            self._found += [(condition, end, path) for condition, path in absent]

    def check(self, block: Block) -> None:
        """Fail where something was written behind the first value that is absent."""
        if self._found:
            block.close()
        for condition, end, steps in self._found:
            wrong = all_of([condition, compared("<", end, v.Written())])
            block.add(*fail_if(wrong, "bad-count", st.Place(steps)))


def _absences(
    kind: Type, value: v.Value, steps: tuple[st.Step, ...], scope: Scope
) -> Iterator[tuple[v.Value, tuple[st.Step, ...]]]:
    """Yield when an Optional inside of a value is absent, with its path."""
    match kind:
        case Limited(inner=inner) | Framed(inner=inner) | Padded(inner=inner):
            yield from _absences(inner, value, steps, scope)
        case Optional():
            there = v.Present(value) if isinstance(of_type(value), v.OptionType) else value
            yield negated(there), steps
        case If(condition=condition, type=inner):
            option = of_type(value)
            assert isinstance(option, v.OptionType)
            inside = value if is_option(inner) else v.Within(value, option.inner)
            for absent, path in _absences(inner, inside, steps, scope):
                yield all_of([truth(condition, scope.value_of), absent]), path
        case Layout(fields=fields):
            inside_of = scope.within(value)
            for field in fields:
                held = inside_of.member(field)
                if held is not None:
                    yield from _absences(field.type, held, (*steps, field.label), inside_of)
        case _:
            assert all(reach_of(part) == "own" for part in parts_of(kind)), f"{kind} with others behind"
