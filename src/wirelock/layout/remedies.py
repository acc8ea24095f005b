"""What to write in place of the constructs that are not read."""

from typing import Final

KINDS: Final = "see the page of constructs in the documentation for what is read"

CODE_NAME: Final = 'name its code and give it a version: opaque("name", 1, ...)'

REMEDIES: Final = {
    "RawCopy": "put it straight into a Struct, as a field that a Checksum covers; otherwise leave it out",
    "Pointer": "read the fields in the order of the wire",
    "Peek": "read the fields in the order of the wire",
    "Rebuild": "name it, at the top of a Struct",
    "ExprValidator": "give the record a Rule, or annotate the field",
    "Select": "or use Switch with a field that says which it is",
    "Union": "use Switch with a field that says which it is",
    "LazyBound": "layouts cannot contain themselves: write the levels out",
}
"""What to write in place of the kinds that people try first."""
