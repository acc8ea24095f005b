"""A project's settings, and importing its protocols whatever they do."""

import sys
from pathlib import Path

import pytest

from wirelock import Registry, SchemaError
from wirelock.errors import ProjectError
from wirelock.schema.project import find_project

GOOD = """
from construct import Byte, Struct
from wirelock import Protocol, Record, Registry

class One(Record, layout=Struct("x" / Byte)):
    x: int

NAMES = Registry(Protocol("one", {1: One}))
OTHER = 5
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Write files into a folder of its own; forgets every module that comes from there."""
    before, path = set(sys.modules), list(sys.path)
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.path.remove(str(tmp_path))

    def write(files=()):
        for name, text in dict(files).items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
        return tmp_path

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]
    sys.path[:] = path


def settings(text='protocols = "wire_names:NAMES"'):
    return f"[tool.wirelock]\n{text}\n"


# -- settings


def test_a_project_is_found_from_any_folder_below(project):
    root = project({"pyproject.toml": settings(), "wire_names.py": GOOD})
    deep = root / "a" / "b"
    deep.mkdir(parents=True)
    for start in (root, root / "a", deep):
        found = find_project(start)
        assert (found.root, found.protocols) == (root, "wire_names:NAMES")
        assert found.fixtures == root / "fixtures"
        assert found.lock == root / "wirelock.lock"
    assert isinstance(find_project(deep).load(), Registry)
    assert [protocol.name for protocol in find_project(deep).load()] == ["one"]


def test_the_lock_is_beside_a_package_s_files(project):
    root = project({"pyproject.toml": settings('protocols = "pack.age:NAMES"'), "pack/age/__init__.py": GOOD})
    assert find_project(root).lock == root / "pack" / "age" / "wirelock.lock"


def test_all_settings(project):
    root = project(
        {"pyproject.toml": settings('protocols = "a:B"\nfixtures = "golden"\nlock = "locks/here.lock"')}
    )
    found = find_project(root)
    assert (found.fixtures, found.lock) == (root / "golden", root / "locks" / "here.lock")


def test_a_pyproject_without_settings_is_passed_by(project):
    root = project({"pyproject.toml": settings(), "inner/pyproject.toml": "[project]\nname = 'inner'\n"})
    assert find_project(root / "inner").root == root


def test_the_nearest_settings_count(project):
    root = project({"pyproject.toml": settings(), "inner/pyproject.toml": settings('protocols = "c:D"')})
    assert find_project(root / "inner").protocols == "c:D"


def test_what_is_said_outweighs_the_settings(project):
    root = project(
        {"pyproject.toml": settings('protocols = "c:D"\nfixtures = "golden"'), "wire_names.py": GOOD}
    )
    found = find_project(root, "wire_names:NAMES")
    assert (found.protocols, found.fixtures) == ("wire_names:NAMES", root / "golden")
    assert "one" in found.load()


def test_with_protocols_said_no_settings_are_needed(project):
    root = project({"wire_names.py": GOOD})
    assert "one" in find_project(root, "wire_names:NAMES").load()


BAD_SETTINGS = {
    "no settings": (
        "[project]\nname = 'x'\n",
        r'no \[tool.wirelock\] with protocols = "module:NAME" in a pyproject.toml',
    ),
    "an empty file": ("", r"no \[tool.wirelock\] with protocols"),
    "no protocols": (settings('fixtures = "x"'), r"no \[tool.wirelock\] with protocols"),
    "nothing set": (settings(""), r"no \[tool.wirelock\] with protocols"),
    "an unknown key": (
        settings('protocol = "a:B"'),
        "has no setting 'protocol': there are protocols, fixtures, lock",
    ),
    "a table in it": (settings('protocols = "a:B"\n[tool.wirelock.more]\na = 1'), "has no setting 'more'"),
    "a number": (settings("protocols = 5"), "protocols = 5 is no string"),
    "a list": (settings('protocols = ["a:B"]'), "is no string"),
    "a number for the lock": (settings('protocols = "a:B"\nlock = 5'), "lock = 5 is no string"),
    "settings that are no table": ("[tool]\nwirelock = 5\n", "wirelock"),
    "settings that are text": ("[tool]\nwirelock = 'a:B'\n", "wirelock"),
    "settings that are a list": ("[[tool.wirelock]]\nprotocols = 'a:B'\n", "wirelock"),
    "a tool that is no table": ("tool = 5\n", "tool"),
    "no TOML": ("[tool.wirelock\n", "cannot be read"),
    "a key twice": (settings('protocols = "a:B"\nprotocols = "c:D"'), "cannot be read"),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_settings_that_cannot_be_used(project, name):
    text, problem = BAD_SETTINGS[name]
    root = project({"pyproject.toml": text})
    with pytest.raises(ProjectError, match=problem) as caught:
        find_project(root)
    assert "\n" not in str(caught.value)
    assert "pyproject.toml" in str(caught.value)


def test_a_byte_order_mark_before_the_settings_is_passed_over(project):
    """Editors on Windows write one; one in the middle is no TOML."""
    root = project({"pyproject.toml": "\ufeff" + settings(), "wire_names.py": "\ufeff" + GOOD})
    assert isinstance(find_project(root).load(), Registry)
    project({"pyproject.toml": "\n\ufeff" + settings()})
    with pytest.raises(ProjectError, match="cannot be read"):
        find_project(root)


def test_a_pyproject_that_is_no_text(project):
    root = project()
    (root / "pyproject.toml").write_bytes(b"[tool.wirelock]\nprotocols = '\xff'\n")
    with pytest.raises(ProjectError, match="cannot be read"):
        find_project(root)


# -- importing

BAD_NAMES = {
    "no name": "wire_names",
    "an empty name": "wire_names:",
    "no module": ":NAMES",
    "nothing": "",
    "two names": "wire_names:NAMES:MORE",
    "a name with a point": "wire_names:NAMES.x",
    "a name with a space": "wire_names:NA MES",
}


@pytest.mark.parametrize("name", BAD_NAMES)
def test_names_that_are_no_module_and_name(project, name):
    root = project({"pyproject.toml": settings('protocols = "elsewhere:X"'), "wire_names.py": GOOD})
    with pytest.raises(ProjectError) as caught:
        find_project(root, BAD_NAMES[name]).load()
    assert "\n" not in str(caught.value)
    if BAD_NAMES[name]:
        assert str(caught.value) == f"protocols = {BAD_NAMES[name]!r} names no registry: write module:NAME"


MODULES = {
    "no such module": ("absent:NAMES", "", r"^there is no module 'absent' in /"),
    "no such module in a package": ("wire_names.absent:NAMES", GOOD, r"wire_names\.absent"),
    "a relative module": ("..wire_names:NAMES", GOOD, "wire_names"),
    "a path": ("wire_names.py:NAMES", GOOD, "wire_names"),
    "no such name": ("wire_names:MISSING", GOOD, "^wire_names has no Registry named MISSING$"),
    "another kind of thing": ("wire_names:OTHER", GOOD, "^wire_names has no Registry named OTHER$"),
    "a class": ("wire_names:One", GOOD, "^wire_names has no Registry named One$"),
    "an exception": (
        "wire_names:NAMES",
        "\nraise RuntimeError('not\\ntoday')",
        r"^wire_names does not import: RuntimeError: not \(.*wire_names\.py:2\)$",
    ),
    "an exception without words": (
        "wire_names:NAMES",
        "raise KeyError",
        r"^wire_names does not import: KeyError",
    ),
    "an exception in a function": (
        "wire_names:NAMES",
        "def f():\n    1 / 0\nf()",
        r"^wire_names does not import: ZeroDivisionError: division by zero \(.*wire_names\.py:2\)$",
    ),
    "a syntax error": (
        "wire_names:NAMES",
        "x = = 5",
        "^wire_names does not import: SyntaxError: invalid syntax",
    ),
    "a null byte": ("wire_names:NAMES", "x = 5\0", "^wire_names does not import: "),
    "an endless recursion": (
        "wire_names:NAMES",
        "def f():\n    f()\nf()",
        "^wire_names does not import: RecursionError",
    ),
    "another module missing": (
        "wire_names:NAMES",
        "\nimport nowhere_at_all",
        r"^wire_names does not import: No module named 'nowhere_at_all' \(.*wire_names\.py:2\)$",
    ),
    "another name missing": (
        "wire_names:NAMES",
        "from wirelock import Nothing",
        "^wire_names does not import: ImportError: cannot import name 'Nothing'",
    ),
    "an exit": ("wire_names:NAMES", "import sys\nsys.exit(3)", "^wire_names does not import: SystemExit: 3"),
    "an exit without a number": (
        "wire_names:NAMES",
        "raise SystemExit",
        "^wire_names does not import: SystemExit",
    ),
    "a generator's end": (
        "wire_names:NAMES",
        "raise StopIteration",
        "^wire_names does not import: StopIteration",
    ),
    "an exception of its own": (
        "wire_names:NAMES",
        "class Odd(BaseException):\n    pass\nraise Odd('so odd')",
        "^wire_names does not import: Odd: so odd",
    ),
    "an exception that cannot be told": (
        "wire_names:NAMES",
        "class Odd(Exception):\n    def __str__(self):\n        raise ValueError('no')\nraise Odd()",
        "^wire_names does not import: Odd",
    ),
}


@pytest.mark.parametrize("name", MODULES)
def test_modules_that_give_no_registry(project, name):
    protocols, text, problem = MODULES[name]
    root = project({"wire_names.py": text})
    with pytest.raises(ProjectError, match=problem) as caught:
        find_project(root, protocols).load()
    assert "\n" not in str(caught.value)


def test_a_refused_layout_stays_a_schema_error(project):
    root = project({"wire_names.py": GOOD.replace("x: int", "x: str")})
    with pytest.raises(SchemaError, match=r"^One\.x: the annotation str does not fit the layout; write int"):
        find_project(root, "wire_names:NAMES").load()


def test_an_interrupt_goes_through(project):
    root = project({"wire_names.py": "raise KeyboardInterrupt"})
    with pytest.raises(KeyboardInterrupt):
        find_project(root, "wire_names:NAMES").load()


def test_loading_twice_gives_the_same_registry(project):
    root = project({"wire_names.py": GOOD})
    found = find_project(root, "wire_names:NAMES")
    assert found.load() is found.load()
    assert sys.path.count(str(root)) == 1


def test_this_repository_is_a_project():
    registry = find_project(Path(__file__).parent).load()
    assert [protocol.name for protocol in registry] == ["rotation", "snapshot"]
