"""Add to the golden files what a generator makes: the poses of the rotations, and pseudo-random cases.

    PYTHONPATH=src:. python tests/golden/make_fixtures.py            # add what is missing
    PYTHONPATH=src:. python tests/golden/make_fixtures.py --check    # say what is missing, write nothing

Cases with another source than `generator` are written by hand, in the files. What is in a file already is
never changed: where it would come out differently now, the file is right and this is a failure. Only the
layout's digest is brought up to date.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from protocol import PROTOCOLS
from tests.golden import rotation_v3
from wirelock import DecodeError, EncodeError
from wirelock.golden.run import make_case
from wirelock.golden.vectors import Case, GoldenFile, Pose, golden_path, read, write
from wirelock.schema.registry import Protocol

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "fixtures"
VECTORS = ROOT / "tests/quaternion/smallest_three_16.json"
WORDS = json.loads((ROOT / "tests/golden/pose_words.json").read_text("utf-8"))
WORDS_V3 = json.loads((ROOT / "tests/golden/pose_words_v3.json").read_text("utf-8"))


def poses(version: int) -> Iterator[Pose]:
    """Yield the poses of one version of rotation: the 73 vectors, of v3 their inputs and more."""
    if version >= 3:
        yield from encode_poses_v3()
        yield from decode_poses_v3()
        return
    vectors = json.loads(VECTORS.read_text("utf-8"))
    for vector in vectors["encode"]:
        name, comment = WORDS["encode"][vector["name"]]
        refused = vector["expect"] == "reject"
        yield Pose(
            id=name,
            comment=comment,
            source="article" if "article" in name else "generator",
            flags=tuple(encode_flags(vector)),
            direction="encode",
            quaternion=tuple(vector["input"]),
            data=None if refused else bytes.fromhex(vector["expect"]),
            code="out-of-range" if refused else None,
        )
    for vector in vectors["decode"]:
        code = None if vector["accept"] else "rule:reachable"
        bits = tuple(vector["v1_decode_bits"]) if vector["accept"] else None
        name, comment, flags = WORDS["decode"][vector["name"]]
        if vector["name"] == "index-4" and version == 1:
            code = "out-of-range"
        elif vector["name"] in WORDS["decode_v2"] and version == 2:
            name, comment, flags = WORDS["decode_v2"][vector["name"]]
            code, bits = None, ("3f800000", "00000000", "00000000", "00000000")
        yield Pose(
            id=name,
            comment=comment,
            source="article" if "article" in name else "generator",
            flags=tuple(flags),
            direction="decode",
            quaternion=bits,
            data=bytes.fromhex(vector["packet"]),
            code=code,
        )


def encode_flags(vector: dict[str, Any]) -> Iterator[str]:
    """Yield our flags for the mistakes that a vector catches.

    Where the squared length is not finite, the vectors compare with an encoder that does not notice; an
    encoder that is right but for one mistake is caught there by three of them only.
    """
    not_finite = "dotnet_emits" in vector
    for mistake in vector["catches"]:
        if not not_finite or mistake in ("float64-throughout", "overflow-safe-normalise"):
            yield WORDS["flags"][mistake][0]
    if not_finite:
        yield WORDS["not_finite"][0]


def encode_poses_v3() -> Iterator[Pose]:
    """Yield what is to be encoded as rotation v3: bytes and flags come from the second encoder."""
    vectors = json.loads(VECTORS.read_text("utf-8"))["encode"]
    named = WORDS["encode"] | WORDS_V3["encode"]
    inputs = [(*named[vector["name"]], vector["input"]) for vector in vectors] + WORDS_V3["more"]
    inputs += [(name, told, rotation_v3.decode(packet)) for name, told, packet in WORDS_V3["ties"]]
    for name, comment, words in inputs:
        quaternion = [of_bits(word) for word in words]
        found = rotation_v3.encode(quaternion)
        refused = found == "reject"
        try:
            ours = PROTOCOLS["rotation"].versions[3].from_quaternion(*quaternion).build().hex()
        except EncodeError:
            ours = "reject"
        agree(name, ours, found)
        caught = rotation_v3.caught(quaternion)
        yield Pose(
            id=name,
            comment=comment,
            source="article" if "article" in name else "generator",
            flags=tuple(flag for mistake, (flag, _) in WORDS_V3["flags"].items() if mistake in caught),
            direction="encode",
            quaternion=tuple(words),
            data=None if refused else bytes.fromhex(found),
            code="out-of-range" if refused else None,
        )


def decode_poses_v3() -> Iterator[Pose]:
    """Yield what is to be decoded as rotation v3: verdicts, bits and flags come from the second decoder."""
    for name, comment, flags, packet in WORDS_V3["decode"]:
        data = rotation_v3.pack(*packet)
        found: str | tuple[str, ...]
        if not rotation_v3.reachable(*packet):
            found = "rule:reachable"
        elif not rotation_v3.canonical(packet):
            found = "rule:canonical"
        else:
            found = rotation_v3.decode(packet)
            mistakes = rotation_v3.DECODING.items()
            caught = [flag for flag, mistake in mistakes if rotation_v3.decode(packet, **mistake) != found]
            flags = [*flags, *caught]
            agree(name, rotation_v3.encode(map(of_bits, found)), data.hex())  # encoding again is free
        try:
            record = PROTOCOLS["rotation"].parse(data, version=3)
            ours = tuple(struct.pack(">f", component).hex() for component in record.to_quaternion())
        except DecodeError as error:
            ours = error.code
        agree(name, ours, found)
        refused = isinstance(found, str)
        yield Pose(
            id=name,
            comment=comment,
            source="article" if "article" in name else "generator",
            flags=tuple(flags),
            direction="decode",
            quaternion=None if refused else found,
            data=data,
            code=found if refused else None,
        )


def agree(name: str, ours: object, second: object) -> None:
    """Raise SystemExit where the library and the second implementation differ."""
    if ours != second:
        raise SystemExit(f"rotation v3: {name}: the library gives {ours}, the second implementation {second}")


def of_bits(word: str) -> float:
    """Return the binary32 number that has these bits."""
    number: float = struct.unpack(">f", bytes.fromhex(word))[0]
    return number


def pose_flags(version: int) -> dict[str, str]:
    """Return the flags of poses with their explanations."""
    if version >= 3:
        return dict(WORDS_V3["flags"].values()) | WORDS_V3["decode_flags"]
    return dict([*WORDS["flags"].values(), WORDS["not_finite"]]) | dict(WORDS["decode_flags"])


class Numbers:
    """Pseudo-random numbers that are the same everywhere: SHA-256 of a name and a counter."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.count = 0

    def below(self, limit: int) -> int:
        """Return a number in 0..limit-1."""
        self.count += 1
        return int(hashlib.sha256(f"{self.name} {self.count}".encode()).hexdigest(), 16) % limit

    def rotation(self, version: int) -> tuple[int, bytes]:
        """Return an index and the bytes of three components that are reachable wherever it is.

        From v3 on the bytes hold the index too, and all is canonical.
        """
        limit = 16000 if version < 3 else 8000
        index, components = self.below(4), [self.below(2 * limit + 1) - limit for _ in range(3)]
        if version < 3:
            return index, struct.pack("<3h", *components)
        return index, rotation_v3.pack(index, *components)

    def entity(self, version: int) -> bytes:
        """Return the bytes of an entity; its position has whole 1/64 metres."""
        flags, (index, components) = self.below(64), self.rotation(version)
        position = struct.pack("<3f", *((self.below(2 * 524288 + 1) - 524288) / 64 for _ in range(3)))
        number = struct.pack("<H", self.below(65536))
        if version == 1:
            return number + bytes([flags]) + position + bytes([index]) + components
        if version >= 3:
            return number + bytes([flags]) + position + components
        return number + position + bytes([flags << 2 | index]) + components


def generated(protocol: Protocol, version: int) -> Iterator[Case]:
    """Yield the pseudo-random cases of one version. Their bytes are put together here, not by a codec."""
    for number, entities in enumerate((4, 9, 16), 1):
        numbers = Numbers(f"{protocol.name} {number}")
        if protocol.name == "rotation":
            index, components = numbers.rotation(version)
            flags = numbers.below(64) if version == 2 else 0
            data = components if version >= 3 else bytes([flags << 2 | index]) + components
            what = "A pseudo-random rotation."
        else:
            head = b"WS" + struct.pack("<BIH", version, numbers.below(2**32), entities)
            data = head + b"".join(numbers.entity(version) for _ in range(entities))
            what = f"{entities} pseudo-random entities."
        yield make_case(
            protocol, version, data, id=f"pseudo-random-{number}", comment=what, source="generator"
        )


def brought_up_to_date(file: GoldenFile) -> GoldenFile:
    """Return a golden file with all that is made here. Raises SystemExit where it says something else."""
    protocol = PROTOCOLS[file.protocol]
    made: list[Case | Pose] = list(generated(protocol, file.version))
    flags = dict(file.flags)
    if file.protocol == "rotation":
        made += poses(file.version)
        used = {flag for vector in made for flag in vector.flags}
        flags = {name: told for name, told in pose_flags(file.version).items() if name in used} | flags
        flags = {name: flags[name] for name in dict.fromkeys([*file.flags, *flags])}
    known = {vector.id: vector for vector in file.vectors}
    for vector in made:
        if known.get(vector.id, vector) != vector:
            where = f"{file.protocol} v{file.version}"
            raise SystemExit(f"{where}: {vector.id} would change, and what is in the file stays as it is")
    new = [vector for vector in made if vector.id not in known]
    return replace(
        file,
        digest=protocol.digest(file.version),
        flags=flags,
        cases=file.cases + tuple(vector for vector in new if isinstance(vector, Case)),
        poses=file.poses + tuple(vector for vector in new if isinstance(vector, Pose)),
    )


def main(check: bool) -> int:
    """Bring all files up to date, or say which are not."""
    stale = 0
    for protocol in PROTOCOLS:
        for version in protocol.versions:
            path = golden_path(FIXTURES, protocol.name, version)
            old = read(path)
            new = brought_up_to_date(old)
            if new == old:
                continue
            stale += 1
            print(f"{path.relative_to(ROOT)}: {'is not' if check else 'brought'} up to date")
            if not check:
                write(path, new)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
