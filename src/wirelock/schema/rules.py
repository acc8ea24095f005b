"""Named cross-field rules, written once as expressions, so that every engine runs the same one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from wirelock.errors import SchemaError
from wirelock.layout import nodes, terms
from wirelock.layout.expression import Scope, read_condition
from wirelock.layout.operators import paths_in, reads_index


@dataclass(frozen=True)
class Rule:
    """A named condition over a record's fields.

    `expression` is a `this` expression over integers, or a lambda (see docs/semantics.md), that must not
    be zero; `message` says in words what it asks. A record that breaks it is refused with `rule:NAME`.
    """

    name: str
    expression: Any
    message: str = ""


def read_rules(rules: Iterable[Rule], layout: nodes.Layout) -> tuple[terms.Rule, ...]:
    """Read a record's rules against its lowered layout, and add them to those that the layout has.

    Raises SchemaError for what cannot be one.
    """
    scope = Scope()
    scope.types = {item.label: nodes.plain(item.type) for item in layout.fields}
    found: dict[str, terms.Rule] = {rule.name: rule for rule in layout.rules}
    for rule in rules:
        if not isinstance(rule, Rule):
            raise SchemaError(layout.name, f"{rule!r} is no Rule", "write Rule(name, expression, message)")
        where = f"{layout.name}: rule {rule.name}"
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name):
            raise SchemaError(where, "the name is not lower-case words with hyphens", "rename the rule")
        if rule.name in found:
            raise SchemaError(where, "two rules have this name", "rename one of them")
        expression = read_condition(rule.expression, scope, where)
        if reads_index(expression) or any(path.up for path in paths_in(expression)):
            raise SchemaError(
                where, "the rule reads fields around the record", "put it in the record around it"
            )
        found[rule.name] = terms.Rule(rule.name, expression, rule.message)
    return tuple(found.values())
