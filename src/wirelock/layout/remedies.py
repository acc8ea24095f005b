"""What to write in place of the constructs that are not read."""

from typing import Final

KINDS: Final = "see the page of constructs in the documentation for what is read"
ENDLESS: Final = "a layout cannot contain itself: write the levels out"
FOCUSED: Final = "use a Struct: name what has a value, constants and padding need none"
CODE_NAME: Final = 'name its code and give it a version: opaque("name", 1, ...)'
ADAPTER: Final = f"use scaled, ticks, Enum or Mapping, or a property of the record; or {CODE_NAME}"
_ORDER: Final = "read the fields in the order of the wire"
_INSIDE: Final = "write what is inside"
_TICKS: Final = 'use ticks, which counts a unit of time: ticks(Int32ub, unit="s", epoch="unix")'
_TUNNEL: Final = 'put opaque around it, which names the code: opaque("name", 1, ...); or use Bytes'
_WHOLE: Final = "write the whole Array: elements left out would be lost; choose in a property"
_VALID: Final = "use OneOf or NoneOf, give the record a Rule, or annotate the field"
_FIELDS: Final = "write the fields themselves: Struct and Array"

REMEDIES: Final = {
    "RawCopy": "put it straight into a Struct, as a field that a Checksum covers; otherwise leave it out",
    "Pointer": _ORDER,
    "Peek": _ORDER,
    "Seek": _ORDER,
    "OffsettedEnd": "give what is before the end a size: Prefixed or FixedSized",
    "Tell": "leave it out: a fault names the byte",
    "Rebuild": "name it, at the top of a Struct",
    "Check": "put it straight into a Struct",
    "Error": "use it as the default of a Switch, or as one branch of IfThenElse",
    "StopIf": "use If around what follows, or Optional",
    "Select": "or use Switch with a field that says which it is",
    "Union": "use Switch with a field that says which it is; other readings of the same bytes are properties",
    "NamedTuple": "use the Struct inside: the record has attributes",
    "RestreamData": "parse a record from that data on its own",
    "Rebuffered": f"{_INSIDE}: a record is parsed from bytes",
    "Lazy": _INSIDE,
    "LazyStruct": "write Struct",
    "LazyArray": "write Array",
    "Timestamp": _TICKS,
    "TimestampAdapter": _TICKS,
    **dict.fromkeys(("Compressed", "CompressedLZ4", "EncryptedSym", "EncryptedSymAead"), _TUNNEL),
    **dict.fromkeys(("ProcessXor", "ProcessRotateLeft", "Tunnel"), _TUNNEL),
    **dict.fromkeys(("Adapter", "SymmetricAdapter", "ExprAdapter", "ExprSymmetricAdapter"), ADAPTER),
    **dict.fromkeys(("ExprValidator", "Validator"), _VALID),
    **dict.fromkeys(("Filter", "Slicing", "Indexing"), _WHOLE),
    "Pickled": _FIELDS,
    "Numpy": _FIELDS,
    "Probe": "leave it out",
    "Debugger": f"{_INSIDE}, and leave it out",
    "Compiled": "write the construct that it was compiled from",
    "Construct": CODE_NAME,
    "Subconstruct": CODE_NAME,
}
"""What to write in place of the kinds that are not read."""
