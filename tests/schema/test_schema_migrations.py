"""Migrations: chains, what they lose, what is refused, and the laws that hold for every one."""

import pytest
from construct import Byte, Const, Float32l, Int16ub, PrefixedArray, Struct

from protocol import PROTOCOLS
from protocol.rotation import PoseFlags, RotationV1, RotationV2, RotationV3
from protocol.snapshot import SnapshotV1, SnapshotV3
from tests.schema.record_maker import make
from wirelock import Lossy, Migration, MigrationError, Protocol, Record, SchemaError
from wirelock.schema.migration import broken_laws

ROTATION, SNAPSHOT = PROTOCOLS["rotation"], PROTOCOLS["snapshot"]


class A(Record, layout=Struct("v" / Const(1, Byte), "x" / Byte)):
    v: int
    x: int


class B(Record, layout=Struct("v" / Const(2, Byte), "x" / Int16ub, "y" / Byte)):
    v: int
    x: int
    y: int


class C(Record, layout=Struct("v" / Const(4, Byte), "xs" / PrefixedArray(Byte, Byte))):
    v: int
    xs: tuple[int, ...]


def up(a):
    return B(x=a.x, y=0)


@Lossy("y")
def down(b):
    return A(x=b.x)


def widened(b):
    return C(xs=(b.x % 256, b.y))


FIRST = Migration(1, 2, up=up, down=down)
SECOND = Migration(2, 4, up=widened)
CHAIN = Protocol("chain", {4: C, 1: A, 2: B}, tag=("v",), migrations=[SECOND, FIRST])


def test_chains_compose():
    assert CHAIN.migrate(A(x=5), 4) == CHAIN.latest(A(x=5)) == C(xs=(5, 0))
    assert CHAIN.latest(C(xs=())) == C(xs=())
    assert CHAIN.migrate(A(x=5), 1) == A(x=5)
    assert CHAIN.parse(b"\1\5", as_version=4) == C(xs=(5, 0))
    assert CHAIN.parse(b"\1\5", as_version=1) == A(x=5)
    assert [CHAIN.number_of(record) for record in (A(x=1), B(x=1, y=1), C(xs=()))] == [1, 2, 4]
    assert [repr(migration) for migration in CHAIN.migrations] == ["Migration(1, 2)", "Migration(2, 4)"]


def test_what_is_lost_has_to_be_allowed_by_name():
    for allow in ((), ("x",), "x"):
        with pytest.raises(MigrationError) as caught:
            CHAIN.downgrade(B(x=5, y=6), 1, allow=allow)
        assert str(caught.value) == "chain v2 to v1: the step loses y; allow it by name: 'y'"
    for allow in (("y",), ["x", "y"], {"y"}, "y"):
        assert CHAIN.downgrade(B(x=5, y=6), 1, allow=allow) == A(x=5)
    with pytest.raises(MigrationError):
        CHAIN.parse(b"\2\0\5\6", as_version=1)
    assert CHAIN.parse(b"\2\0\5\6", as_version=1, allow=["y"]) == A(x=5)


def test_a_field_covers_what_is_inside_of_it():
    old = SNAPSHOT.versions[2].parse(
        bytes.fromhex("575302000000000100" + "0100" + "00" * 12 + "03" + "00" * 6)
    )
    for allow in (("entities",), ("entities[].rotation",), ("entities[]",)):
        assert isinstance(SNAPSHOT.latest(old, allow=allow), SnapshotV3)
    with pytest.raises(MigrationError, match="loses"):
        SNAPSHOT.latest(old, allow=("entities[].rot", "entitie"))


# name: (what is run, what it says)
REFUSED = {
    "no way back": (
        lambda: CHAIN.downgrade(C(xs=()), 1),
        "chain v4 to v2: there is no way down; add Migration(2, 4, down=...)",
    ),
    "no migration": (
        lambda: Protocol("bare", {1: A, 2: B}, tag=("v",)).latest(A(x=1)),
        "bare v1 to v2: there is no way up; add Migration(1, 2, up=...)",
    ),
    "a value that does not fit": (
        lambda: CHAIN.downgrade(B(x=300, y=0), 1, allow="y"),
        "chain v2 to v1: the step refuses the record: x: Input should be less than or equal to 255",
    ),
    "another class": (
        lambda: Protocol("p", {1: A, 2: B}, tag=("v",), migrations=[Migration(1, 2, up=lambda a: a)]).latest(
            A(x=1)
        ),
        "p v1 to v2: the step gives a A; return a B",
    ),
    "nothing": (
        lambda: Protocol("p", {1: A, 2: B}, tag=("v",), migrations=[Migration(1, 2, up=print)]).latest(
            A(x=1)
        ),
        "p v1 to v2: the step gives a NoneType; return a B",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_steps_that_cannot_be_taken(name, capsys):
    run, told = REFUSED[name]
    with pytest.raises(MigrationError) as caught:
        run()
    assert str(caught.value).startswith(told)


def test_a_bug_in_a_step_is_no_refusal():
    bad = Protocol("p", {1: A, 2: B}, tag=("v",), migrations=[Migration(1, 2, up=lambda a: a.nope)])
    with pytest.raises(AttributeError):
        bad.latest(A(x=1))


def test_other_records_and_versions():
    with pytest.raises(TypeError, match="a RotationV1 is no version of chain"):
        CHAIN.latest(RotationV1(largest_index=3, a=0, b=0, c=0))
    with pytest.raises(ValueError, match="chain has no version 3"):
        CHAIN.migrate(A(x=1), 3)
    with pytest.raises(ValueError, match=r"chain has no version 2\.0"):
        CHAIN.migrate(A(x=1), 2.0)
    with pytest.raises(ValueError, match="v2 of chain is newer than the record"):
        CHAIN.downgrade(A(x=1), 2)


# name: (what is run, where, what is wrong)
MISTAKES = {
    "no neighbours": (
        lambda: Protocol("p", {1: A, 2: B, 4: C}, migrations=[Migration(1, 4, up=up)]),
        "neighbours are 1 to 2, 2 to 4",
    ),
    "the wrong way": (
        lambda: Protocol("p", {1: A, 2: B}, migrations=[Migration(2, 1, up=up)]),
        "not between",
    ),
    "unknown": (lambda: Protocol("p", {1: A, 2: B}, migrations=[Migration(2, 3, up=up)]), "not between"),
    "one version": (
        lambda: Protocol("p", {1: A}, migrations=[Migration(1, 2, up=up)]),
        "neighbours are none",
    ),
    "twice": (lambda: Protocol("p", {1: A, 2: B}, migrations=[FIRST, FIRST]), "two migrations from 1"),
    "no migration": (lambda: Protocol("p", {1: A, 2: B}, migrations=[up]), "is no Migration"),
    "no numbers": (lambda: Migration("1", 2, up=up), "versions are integers"),
    "no function": (lambda: Migration(1, 2, up=None), "up is None"),
    "no way down": (lambda: Migration(1, 2, up=up, down=5), "down is 5"),
    "no meaning": (lambda: Migration(1, 2, up=up, keeps="x"), "keeps is 'x'"),
    "a loss of nothing": (lambda: Lossy(), "names no field"),
    "a loss that is no field": (lambda: Lossy("a b"), "names no field"),
    "one class twice": (lambda: Protocol("p", {1: A, 2: A}), "two versions have one Record class"),
    "no versions": (lambda: Protocol("p", [A]), "a protocol without versions"),
    "no name": (lambda: Protocol(None, {1: A}), "a protocol's name"),
    "a key that is no name": (lambda: Protocol("p", {1: A}, keys=(1,)), "keys is (1,)"),
    "a tag that is no name": (lambda: Protocol("p", {1: A}, tag=("v", 1)), "tag is ('v', 1)"),
    "one migration alone": (lambda: Protocol("p", {1: A}, migrations=1), "migrations is 1"),
    "one retired alone": (lambda: Protocol("p", {1: A}, retired=1), "retired is 1"),
    "a step that is no function": (lambda: Lossy("a")(len), "is no function of yours"),
    "retired and not there": (lambda: Protocol("p", {1: A}, retired=[2]), "v2 is retired, but there is none"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_found_when_the_protocol_is_made(name):
    run, told = MISTAKES[name]
    with pytest.raises(SchemaError) as caught:
        run()
    assert told in str(caught.value)


# -- laws

OLDS, NEWS = [A(x=n) for n in (0, 1, 255)], [B(x=n, y=n) for n in (0, 7)]


def laws(migration, olds=OLDS, news=NEWS):
    protocol = Protocol("p", {1: A, 2: B}, tag=("v",), migrations=[migration])
    return broken_laws(protocol.migrations, migration, olds, news)


def test_laws_that_hold():
    assert laws(FIRST) == []
    assert laws(Migration(1, 2, up=up)) == []
    assert laws(Migration(1, 2, up=up, down=down, keeps=lambda a, b: a.x == b.x)) == []


# name: (migration, what is found)
BROKEN = {
    "an undeclared loss": (
        Migration(1, 2, up=up, down=lambda b: A(x=b.x)),
        'p v2 down to v1: y of B(v=2, x=7, y=7) does not come back; declare it: Lossy("y")',
    ),
    "a loss that never occurs": (
        Migration(1, 2, up=up, down=Lossy("y", "x")(lambda b: A(x=b.x))),
        "p v2 down to v1: x came back from all of 2 records; leave it out of Lossy",
    ),
    "another meaning": (
        Migration(
            1,
            2,
            up=lambda a: B(x=a.x * 2, y=0),
            down=Lossy("y")(lambda b: A(x=b.x // 2)),
            keeps=lambda a, b: a.x == b.x,
        ),
        "p v1 up to v2: A(v=1, x=1) does not mean what B(v=2, x=2, y=0) means",
    ),
    "another way back": (
        Migration(1, 2, up=lambda a: B(x=a.x + 1, y=0), down=down),
        "p v1 up to v2: x of A(v=1, x=0) does not come back",
    ),
    "a refusal": (
        Migration(1, 2, up=lambda a: B(x=a.x, y=a.x + 1), down=down),
        "p v1 up to v2: A(v=1, x=255): p v1 to v2: the step refuses the record",
    ),
    "a record that cannot be sent": (
        Migration(1, 2, up=lambda a: B(x=0, y=0).model_copy(update={"x": -1}), down=down),
        "p v1 up to v2: A(v=1, x=0): B: x: -1 is not in",
    ),
}


class F1(Record, layout=Struct("v" / Const(1, Byte), "f" / Float32l)):
    v: int
    f: float


class F2(Record, layout=Struct("v" / Const(2, Byte), "f" / Float32l)):
    v: int
    f: float


def test_the_sign_of_zero_is_a_loss():
    step = Migration(1, 2, up=lambda old: F2(f=old.f + 0.0), down=lambda new: F1(f=new.f))
    protocol = Protocol("p", {1: F1, 2: F2}, tag=("v",), migrations=[step])
    assert (
        "f of F1(v=1, f=-0.0) does not come back"
        in broken_laws(protocol.migrations, step, [F1(f=-0.0)], [])[0]
    )
    assert broken_laws(protocol.migrations, step, [F1(f=0.0), F1(f=1.5)], [F2(f=0.5)]) == []


def raising(problem):
    def step(record):
        raise problem

    return step


BUGS = [
    AttributeError("nope"),
    KeyError("x"),
    ZeroDivisionError(),
    StopIteration(),
    SystemExit(0),
    OSError(2, "no"),
]


@pytest.mark.parametrize("problem", BUGS, ids=lambda problem: type(problem).__name__)
def test_a_step_that_raises_anything_is_told_in_one_line(problem):
    for migration in (
        Migration(1, 2, up=raising(problem)),
        Migration(1, 2, up=up, down=raising(problem)),
        Migration(1, 2, up=up, keeps=lambda old, new: raising(problem)(old)),
    ):
        found = laws(migration)
        assert f"the step raises {type(problem).__name__}" in found[0] and "\n" not in found[0]


def test_a_record_that_was_never_validated_is_told():
    found = laws(Migration(1, 2, up=lambda old: B.model_construct(), down=down))
    assert found[0].startswith("p v1 up to v2: A(v=1, x=0): ")


@pytest.mark.parametrize("name", BROKEN)
def test_laws_that_do_not_hold(name):
    migration, told = BROKEN[name]
    found = laws(migration)
    assert found and found[0].startswith(told)


@pytest.mark.parametrize("old", [1, 2])
@pytest.mark.parametrize("protocol", [ROTATION, SNAPSHOT], ids=lambda protocol: protocol.name)
def test_the_protocols_have_migrations_both_ways(protocol, old):
    migration = protocol.migrations.by_old[old]
    assert migration.down is not None and migration.keeps is not None


def test_rotations_keep_their_flags_and_the_fixed_sample():
    sample = (0.35, -0.2, 0.1, -0.9)
    one = RotationV1.from_quaternion(*sample)
    two = ROTATION.migrate(one, 2)
    assert two.build() == one.build()
    allow = ("flags", "largest_index", "a", "b", "c")
    three = ROTATION.latest(one, allow=allow)
    assert three == RotationV3.from_quaternion(*sample)
    assert ROTATION.migrate(three, 2, allow=allow).build()[:1] == one.build()[:1]
    flagged = two.model_copy(update={"flags": PoseFlags.AIMING})
    with pytest.raises(MigrationError, match="loses flags"):
        ROTATION.downgrade(flagged, 1)
    assert ROTATION.downgrade(flagged, 1, allow="flags") == one
    assert isinstance(flagged, RotationV2)


def test_snapshots_keep_flags_in_every_version():
    entity = SnapshotV1.model_fields["entities"]
    assert entity is not None
    data = bytes.fromhex("575301070000000100" + "0100" + "2a" + "00" * 12 + "03" + "15c08624bded")
    one = SNAPSHOT.parse(data)
    two = SNAPSHOT.migrate(one, 2)
    three = SNAPSHOT.migrate(two, 3, allow="entities[].rotation")
    assert [one.entities[0].flags, two.entities[0].rotation.flags, three.entities[0].flags] == [
        PoseFlags(42)
    ] * 3
    assert SNAPSHOT.migrate(two, 1) == one
    assert SNAPSHOT.parse(data, as_version=3, allow="entities") == three


def test_migrations_survive_pickling_where_their_steps_do():
    import pickle

    assert pickle.loads(pickle.dumps(SNAPSHOT)).latest is not None
    assert pickle.loads(pickle.dumps(MigrationError("a", "b", "c"))).remedy == "c"


def test_a_record_of_a_subclass_has_no_version():
    other = make("A", Struct("v" / Const(1, Byte), "x" / Byte), {"v": int, "x": int})
    with pytest.raises(TypeError, match="no version of chain"):
        CHAIN.latest(other(x=1))
