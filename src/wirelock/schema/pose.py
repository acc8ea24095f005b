"""Which fields of a record are a quaternion: declared for derived columns and for exported codecs."""

from __future__ import annotations

from dataclasses import dataclass

from wirelock.errors import SchemaError
from wirelock.layout.nodes import Integer, Layout, plain

__all__ = ["SmallestThree", "check_pose"]


@dataclass(frozen=True, slots=True)
class SmallestThree:
    """The record is a unit quaternion without its largest component, as wirelock.quaternion packs it.

    `index` names the field that says which of x, y, z, w is left out, `kept` those of the other three in
    ascending order, signed integers of `bits` bits (4 to 16). `canonical` as for quaternion.encode.
    """

    index: str = "largest_index"
    kept: tuple[str, str, str] = ("a", "b", "c")
    bits: int = 16
    canonical: bool = False


def check_pose(pose: SmallestThree, layout: Layout) -> None:
    """Raise SchemaError where a layout has no such fields, or they cannot hold the numbers."""
    if pose.bits not in range(4, 17):
        raise SchemaError(layout.name, f"a smallest three of {pose.bits} bits", "4 to 16 bits are defined")
    if len(pose.kept) != 3:
        raise SchemaError(layout.name, f"kept names {len(pose.kept)} fields", "name three")
    highest = (1 << (pose.bits - 1)) - 1
    for name, low, high in ((pose.index, 0, 3), *((name, -highest, highest) for name in pose.kept)):
        found = next((item for item in layout.fields if item.label == name), None)
        if found is None:
            told = f"the quaternion's field {name} is not in the layout"
            raise SchemaError(layout.name, told, 'name its fields: SmallestThree(index="...", kept=(...))')
        integer = plain(found.type)
        if not isinstance(integer, Integer):
            raise SchemaError(f"{layout.name}.{name}", "a quaternion is made of plain integers")
        if not (integer.lowest <= low and high <= integer.highest):
            raise SchemaError(f"{layout.name}.{name}", f"its integer does not hold {low}..{high}")
