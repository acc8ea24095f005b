"""The rules of a change: which differences break whom, each a pure function with one sentence on its purpose.

Every difference falls under exactly one rule. Its category says who has to care: `wire` (peers: other bytes
are taken, or mean something else), `record` (callers: attributes, JSON, the fault that is told), `name`
(readers of the code alone).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from wirelock.evolve import strictness
from wirelock.lock.diff import ABSENT, Difference

__all__ = ["CATEGORIES", "RULES", "Category", "Rule", "rule_of"]

Category: TypeAlias = Literal["wire", "record", "name"]
CATEGORIES: Final[tuple[Category, ...]] = ("wire", "record", "name")


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its stable id, its category, its purpose, and whether a difference falls under it."""

    id: str
    category: Category
    purpose: str
    applies: Callable[[Difference], bool]


RULES: Final[dict[str, Rule]] = {}
"""Every rule by its id, in the order of the documents."""


def _rule(category: Category) -> Callable[[Callable[[Difference], bool]], Callable[[Difference], bool]]:
    """Put a function into the table: its name is the id, its docstring the purpose."""

    def add(applies: Callable[[Difference], bool]) -> Callable[[Difference], bool]:
        name = applies.__name__.upper()
        RULES[name] = Rule(name, category, (applies.__doc__ or "").strip(), applies)
        return applies

    return add


def rule_of(difference: Difference) -> Rule:
    """Return the one rule that a difference falls under."""
    found = [rule for rule in RULES.values() if rule.applies(difference)]
    assert len(found) == 1, (difference, [rule.id for rule in found])
    return found[0]


# -- versions


@_rule("wire")
def protocol_no_delete(found: Difference) -> bool:
    """A protocol that peers speak stays."""
    return found.aspect == "protocol"


@_rule("wire")
def version_no_delete(found: Difference) -> bool:
    """A version that peers speak stays."""
    return found.aspect == "version"


@_rule("wire")
def tag_same(found: Difference) -> bool:
    """The same fields tell the versions apart."""
    return found.aspect == "tag"


@_rule("wire")
def repeats_same(found: Difference) -> bool:
    """A datagram holds one record, or many, as before."""
    return found.aspect == "repeats"


@_rule("wire")
def digest_same(found: Difference) -> bool:
    """The digests are equal where nothing else differs."""
    return found.aspect == "digest"


# -- fields and their bits


@_rule("wire")
def field_no_delete(found: Difference) -> bool:
    """Every field stays, be it named or padding."""
    return found.aspect == "field" and found.now == ABSENT


@_rule("wire")
def field_no_insert(found: Difference) -> bool:
    """No field comes into a version that peers read."""
    return found.aspect == "field" and found.was == ABSENT


@_rule("wire")
def field_same_position(found: Difference) -> bool:
    """A field keeps its bytes and bits, and its turn among fields of no size."""
    return found.aspect in ("position", "bit order", "order of fields")


@_rule("wire")
def field_same_width(found: Difference) -> bool:
    """A number keeps its width."""
    return found.aspect == "width"


@_rule("wire")
def field_same_byte_order(found: Difference) -> bool:
    """A number keeps its byte order."""
    return found.aspect == "byte order"


@_rule("wire")
def field_same_sign(found: Difference) -> bool:
    """An integer stays signed or unsigned."""
    return found.aspect == "sign"


@_rule("wire")
def field_same_type(found: Difference) -> bool:
    """A field stays of its kind, with its scale, unit, epoch, encoding and code."""
    return found.aspect == "type"


@_rule("wire")
def constant_same(found: Difference) -> bool:
    """A constant keeps its value, and what is no constant becomes none."""
    return found.aspect == "constant"


@_rule("wire")
def length_same(found: Difference) -> bool:
    """Lengths, counts and sizes are found as before."""
    return found.aspect in ("length", "count", "size")


@_rule("wire")
def padding_same(found: Difference) -> bool:
    """Padding keeps its pattern and unit."""
    return found.aspect in ("pattern", "unit", "NULs stripped")


@_rule("wire")
def derived_same(found: Difference) -> bool:
    """A field that follows from others follows from them as before."""
    return found.aspect == "derived"


@_rule("wire")
def checksum_same(found: Difference) -> bool:
    """A checksum is that of the same bytes by the same function."""
    return found.aspect == "checksum"


# -- members and choices


@_rule("wire")
def enum_value_no_delete(found: Difference) -> bool:
    """A member that peers send stays."""
    return found.aspect == "member" and found.nodes[1] is None


@_rule("wire")
def enum_value_new(found: Difference) -> bool:
    """A new member is refused by peers that do not know it."""
    return found.aspect == "member" and found.nodes[0] is None


@_rule("wire")
def enum_value_same(found: Difference) -> bool:
    """A member keeps its number."""
    return _both_members(found) and found.nodes[0][1] != found.nodes[1][1]


@_rule("record")
def enum_value_same_name(found: Difference) -> bool:
    """A number keeps the name of its member."""
    return _both_members(found) and found.nodes[0][1] == found.nodes[1][1]


def _both_members(found: Difference) -> bool:
    return found.aspect == "member" and None not in found.nodes


@_rule("wire")
def condition_same(found: Difference) -> bool:
    """What may be absent is there under the same condition."""
    return found.aspect == "condition"


@_rule("wire")
def choice_same_key(found: Difference) -> bool:
    """A choice is made by the same key."""
    return found.aspect == "key"


@_rule("wire")
def case_no_delete(found: Difference) -> bool:
    """A case that peers send stays."""
    return found.aspect == "case" and found.now == ABSENT


@_rule("wire")
def case_new(found: Difference) -> bool:
    """A new case is refused, or read as the default, by peers that do not know it."""
    return found.aspect == "case" and found.was == ABSENT


# -- limits, rules and validators


def _limit(found: Difference, change: strictness.Change) -> bool:
    return found.aspect == "limit" and strictness.of_limits(*found.nodes) == change


@_rule("wire")
def limit_tightened(found: Difference) -> bool:
    """A value that was taken is not refused."""
    return _limit(found, "tightened")


@_rule("wire")
def limit_loosened(found: Difference) -> bool:
    """No value is sent that peers refuse."""
    return _limit(found, "loosened")


@_rule("wire")
def limit_changed(found: Difference) -> bool:
    """A limit refuses the same values."""
    return _limit(found, "changed")


@_rule("record")
def limit_same_end(found: Difference) -> bool:
    """A limit at the very end of a width stays stated, or unstated."""
    return _limit(found, "same")


def _of_rule(found: Difference, change: strictness.Change) -> bool:
    return found.aspect.startswith("rule ") and strictness.of_rules(*found.nodes) == change


@_rule("wire")
def rule_tightened(found: Difference) -> bool:
    """A record that held its rules still does."""
    return _of_rule(found, "tightened")


@_rule("wire")
def rule_loosened(found: Difference) -> bool:
    """No record is sent that breaks the rules of peers."""
    return _of_rule(found, "loosened")


@_rule("wire")
def rule_changed(found: Difference) -> bool:
    """A rule refuses the same records."""
    return _of_rule(found, "changed")


@_rule("wire")
def validators_same(found: Difference) -> bool:
    """The same Python validators decide over a record."""
    return found.aspect == "validators"


# -- what callers see


@_rule("record")
def field_same_name(found: Difference) -> bool:
    """A field keeps its name: attributes and JSON are called by it."""
    return found.aspect == "name"


@_rule("record")
def rules_same_order(found: Difference) -> bool:
    """Of two broken rules the same one is told."""
    return found.aspect == "order of rules"


# -- what readers of the code see


@_rule("name")
def cases_same_order(found: Difference) -> bool:
    """Cases are listed as before."""
    return found.aspect == "order of cases"


@_rule("name")
def class_same_name(found: Difference) -> bool:
    """The class of a record or an enumeration keeps its name."""
    return found.aspect == "class"


@_rule("name")
def documentation_same(found: Difference) -> bool:
    """Fields, records and rules are explained as before."""
    return found.aspect in ("documentation", "message")
