"""What tests of several commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import PINGS, write_project


@pytest.fixture
def pings(tmp_path: Path) -> Path:
    """A project whose protocol repeats, with another whose names are not in ASCII."""
    return write_project(tmp_path, "pings", PINGS)
