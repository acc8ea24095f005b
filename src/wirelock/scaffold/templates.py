"""The text of a new project's files. `$name` and the like are filled in; see project.py."""

from __future__ import annotations

from typing import Final

FILES: Final = {
    "pyproject.toml": """\
[project]
name = "$name-protocol"
version = "0.1.0"
requires-python = ">=3.11"
dependencies = ["wirelock"]

[project.optional-dependencies]
test = ["pytest>=8.2"]

[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
packages = ["protocol", "protocol.$module"]

[tool.pytest.ini_options]
pythonpath = ["."]

[tool.wirelock]
protocols = "protocol:PROTOCOLS"
""",
    "README.md": """\
# $name

The wire protocol of $name, one layout a version, with [wirelock](https://pypi.org/project/wirelock/).

```sh
wirelock show $name/v1        # every field with its place
pytest                        # golden vectors on every engine, and what is here in tests/
wirelock release $name/v1     # from then on v1 never changes: commit protocol/wirelock.lock
wirelock new-version $name    # a draft of the next version
```

- `protocol/$module/v1.py`: the layout of version 1, and the record that it becomes.
- `fixtures/$name/v1.json`: bytes that clients and servers agree on, in plain JSON, for any language.
- `protocol/wirelock.lock`: what was released. It is written by the first release.
""",
    ".gitignore": """\
__pycache__/
.venv/
*.egg-info/
""",
    "protocol/__init__.py": '''\
"""The protocols of this project, one folder each, one file a version."""

from wirelock import Registry

from protocol.$module import $module

PROTOCOLS = Registry($module)
''',
    "protocol/$module/__init__.py": '''\
"""$name: the state of all entities at one tick."""

from wirelock import Protocol

from protocol.$module.v1 import ${title}PointV1, ${title}V1

$module = Protocol("$name", {1: ${title}V1}, tag=("magic", "version"))

__all__ = ["${title}PointV1", "${title}V1", "$module"]
''',
    "protocol/$module/v1.py": '''\
"""$name v1: a header of nine bytes, then four bytes a point."""

from __future__ import annotations

from construct import Array, Const, Int8ul, Int16sl, Int16ul, Int32ul, Struct, this
from wirelock import Record, derived


class ${title}PointV1(Record, layout=Struct("x" / Int16sl, "y" / Int16sl)):
    """A place, in centimetres."""

    x: int
    """Centimetres to the east."""
    y: int
    """Centimetres to the north."""


class ${title}V1(
    Record,
    layout=Struct(
        "magic" / Const(b"$magic"),
        "version" / Const(1, Int8ul),
        "tick" / Int32ul,
        "count" / Int16ul,
        "points" / Array(this.count, ${title}PointV1.layout),
    ),
):
    """All points at one tick."""

    magic: bytes = derived()
    """The two bytes that tell this protocol from other traffic."""
    version: int = derived()
    """The version of the layout behind this byte."""
    tick: int
    """The simulation step."""
    count: int = derived()
    """How many points follow."""
    points: tuple[${title}PointV1, ...]
    """The points."""
''',
    "tests/test_$module.py": '''\
"""What the golden vectors cannot say. The vectors themselves are run by wirelock's pytest plugin."""

from protocol import PROTOCOLS
from protocol.$module import ${title}PointV1, ${title}V1


def test_a_record_survives_its_bytes() -> None:
    """What is built is read as the same record."""
    record = ${title}V1(tick=7, points=(${title}PointV1(x=-1, y=2),))
    assert PROTOCOLS["$name"].parse(record.build()) == record
''',
}
"""Path -> text."""

CASES: Final = (
    ("empty", "$magic_hex is the magic, 01 the version; a tick of four bytes and a count of two, all zero.",
     "$magic_hex 01 00 00 00 00 00 00"),
    ("two-points", "Tick 7, then two points: (-1, 2) is ff ff 02 00, (256, -32768) is 00 01 00 80.",
     "$magic_hex 01 07 00 00 00 02 00 ff ff 02 00 00 01 00 80"),
    ("cut-short", "The count says one point, and half of it is there.",
     "$magic_hex 01 00 00 00 00 01 00 05 00"),
    ("one-byte-more", "A byte behind the record.", "$magic_hex 01 00 00 00 00 00 00 ff"),
    ("another-version", "Version 9, which there is not.", "$magic_hex 09 00 00 00 00 00 00"),
    ("another-protocol", "Another magic: no fault, but not ours.", "$foreign_hex 01 00 00 00 00 00 00"),
)  # fmt: skip
"""The golden cases of version 1, each worked out by hand: id, comment, bytes."""
