"""Each rule by an example: the protocols as they were, as they are, and what is told of it."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from wirelock.evolve import strictness
from wirelock.evolve.compare import compare_sides
from wirelock.evolve.pairs import judge, live_pairs
from wirelock.evolve.report import finding_lines, pair_lines
from wirelock.evolve.rules import CATEGORIES, RULES, rule_of
from wirelock.evolve.sides import Side, side_of_registry
from wirelock.layout.terms import Limit, Number, Operation
from wirelock.layout.terms import Path as FieldPath
from wirelock.lock.diff import Difference

FOLDER = Path(__file__).parent / "rules"
WITHOUT = {"DIGEST_SAME"}
"""A difference of digests alone is a bug of wirelock, and has no example."""


def side(path: Path) -> Side:
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}".lower(), path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return side_of_registry(module.PROTOCOLS, path.stem)


def told(old: Side, new: Side) -> str:
    parts = ["\n".join(finding_lines(compare_sides(old, new)))]
    parts += ["\n".join(pair_lines(judge(one, other))) for one, other in live_pairs(old, new)]
    return "\n\n".join(parts) + "\n"


@pytest.mark.parametrize("folder", sorted(FOLDER.iterdir()), ids=lambda path: path.name)
def test_an_example_of_a_rule(folder: Path) -> None:
    old, new = side(folder / "old.py"), side(folder / "new.py")
    assert folder.name in [finding.rule.id for finding in compare_sides(old, new)]
    assert told(old, new) == (folder / "expected.txt").read_text("utf-8")


def test_every_rule_has_an_example() -> None:
    assert {path.name for path in FOLDER.iterdir()} == RULES.keys() - WITHOUT
    assert rule_of(Difference("", "digest", "sha256:1", "sha256:2")).id == "DIGEST_SAME"


def test_every_rule_has_a_category_and_a_purpose_of_one_sentence() -> None:
    for name, rule in RULES.items():
        assert name == rule.id and rule.category in CATEGORIES
        assert rule.purpose.endswith(".") and "\n" not in rule.purpose and ". " not in rule.purpose
    assert list(RULES) == list(dict.fromkeys(RULES))


LIMITS = [
    (None, Limit("le", 3), "tightened"), (Limit("le", 3), None, "loosened"),
    (Limit("ge", 1), Limit("ge", 2), "tightened"), (Limit("gt", 2.0), Limit("gt", 1.0), "loosened"),
    (Limit("lt", 1.0), Limit("lt", 2.0), "loosened"),
    (Limit("min_length", 1), Limit("min_length", 0), "loosened"),
    (Limit("max_length", 4), Limit("max_length", 2), "tightened"),
    (Limit("multiple_of", 2), Limit("multiple_of", 4), "tightened"),
    (Limit("multiple_of", 4), Limit("multiple_of", 2), "loosened"),
    (Limit("multiple_of", 2), Limit("multiple_of", 3), "changed"),
    (Limit("le", 3), Limit("le", 3), "same"),
    (Limit("one_of", (1, 2)), Limit("one_of", (1,)), "tightened"),
    (Limit("one_of", (1,)), Limit("one_of", (1, 2)), "loosened"),
    (Limit("one_of", (1, 2)), Limit("one_of", (1, 3)), "changed"),
    (Limit("none_of", (1,)), Limit("none_of", (1, 2)), "tightened"),
    (Limit("none_of", (1, 2)), Limit("none_of", (1,)), "loosened"),
]  # fmt: skip


@pytest.mark.parametrize(("was", "now", "change"), LIMITS, ids=range(len(LIMITS)))
def test_limits_that_can_be_compared(was: Any, now: Any, change: str) -> None:
    assert strictness.of_limits(was, now) == change


A, B = FieldPath(0, ("a",)), FieldPath(0, ("b",))


def compared(operator: str, left: Any, right: Any) -> Operation:
    return Operation(operator, (left, right))


EXPRESSIONS = [
    (None, compared("<", A, Number(3)), "tightened"), (compared("<", A, Number(3)), None, "loosened"),
    (compared("<", A, Number(3)), compared("<", A, Number(2)), "tightened"),
    (compared("<=", A, Number(3)), compared("<=", A, Number(4)), "loosened"),
    (compared(">", A, Number(3)), compared(">", A, Number(4)), "tightened"),
    (compared(">=", A, Number(3)), compared(">=", A, Number(2)), "loosened"),
    (compared(">", Number(3), A), compared("<", A, Number(2)), "tightened"),
    (compared("<", A, Number(3)), compared("<=", A, Number(2)), "changed"),
    (compared("<", A, Number(3)), compared("<", B, Number(2)), "changed"),
    (compared("==", A, Number(3)), compared("==", A, Number(2)), "changed"),
    (A, B, "changed"),
]  # fmt: skip


@pytest.mark.parametrize(("was", "now", "change"), EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_rules_that_can_be_compared(was: Any, now: Any, change: str) -> None:
    assert strictness.of_rules(was, now) == change
