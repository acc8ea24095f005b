"""Columns that a record declares from its fields: what their function is given, and what it may return.

Integers come as int64, so that products of narrow fields do not wrap; as uint64 where the field is unsigned
and has 64 bits, or is a varint. Floats of every width come as float64, as a record has them; flags as bool.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from wirelock.codec.columnar import numpy_module
from wirelock.errors import SchemaError, WirelockError

__all__ = ["Derivation"]

_NUMBERS: Final = "biuf"


@dataclass(frozen=True, slots=True)
class Derivation:
    """Columns that follow from others of the same record: what they are called, and from which fields.

    `where` names the record and the function: `RotationV1.quaternions`.
    """

    where: str
    names: tuple[str, ...]
    fields: tuple[str, ...]
    function: Callable[..., Any]

    def compute(self, columns: Iterable[Any]) -> dict[str, Any]:
        """Return a row of values a name, from rows of the values of the fields, of one length.

        Raises SchemaError where the function fails, or returns anything but one array of numbers of shape
        (n, number of names), or (n,) for one name. What it raises of wirelock's own errors is let through.
        """
        given = [_widened(column) for column in columns]
        count = len(given[0])
        try:
            found = self.function(*given)
        except WirelockError:
            raise
        except Exception as problem:
            told = f"the function raises {type(problem).__name__}: {problem}"
            raise SchemaError(self.where, told, f"it is given arrays of {count} values") from problem
        self._check(found, count)
        if found.ndim == 1:
            return {self.names[0]: found}
        return {name: found[:, at] for at, name in enumerate(self.names)}

    def check_type(self, found: dict[str, Any], wanted: Any) -> None:
        """Raise SchemaError where columns are not of the type that the function gives for no values."""
        given = next(iter(found.values())).dtype
        if given != wanted:
            told = f"the function returns {given} here, but {wanted} for no values"
            raise SchemaError(self.where, told, "return one type whatever the values are: .astype")

    def _check(self, found: Any, count: int) -> None:
        np = numpy_module()
        shapes = [(count, len(self.names)), *([(count,)] if len(self.names) == 1 else [])]
        is_array = isinstance(found, np.ndarray) and not isinstance(found, np.ma.MaskedArray)
        if is_array and found.shape in shapes and found.dtype.kind in _NUMBERS:
            return
        told = type(found).__name__
        if isinstance(found, np.ndarray):
            told = f"{'an array' if is_array else 'a masked array'} of {found.dtype} of shape {found.shape}"
        wanted = " or ".join(map(str, shapes))
        remedy = f"return one array of numbers of shape {wanted}: {count} rows, {', '.join(self.names)}"
        raise SchemaError(self.where, f"the function returns {told}", remedy)


def _widened(column: Any) -> Any:
    if column.dtype.kind == "f":
        return column.astype("f8")
    if column.dtype.kind in "iu" and column.dtype.str[1:] != "u8":
        return column.astype("i8")
    return column.copy()
