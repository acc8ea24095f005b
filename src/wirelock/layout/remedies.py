"""What to write in place of the constructs that are not read."""

from typing import Final

KINDS: Final = "see the page of constructs in the documentation for what is read"

REMEDIES: Final = {
    "Checksum": "read the checksum as an integer",
    "RawCopy": "leave it out: build gives a record's bytes",
    "Pointer": "read the fields in the order of the wire",
    "Peek": "read the fields in the order of the wire",
    "Rebuild": "name it, at the top of a Struct",
    "ExprValidator": "give the record a Rule, or annotate the field",
    "Select": "use Switch with a field that says which it is",
    "Union": "use Switch with a field that says which it is",
    "Sequence": "use a Struct: record fields have names",
    "LazyBound": "layouts cannot contain themselves: write the levels out",
}
"""What to write in place of the kinds that people try first."""
