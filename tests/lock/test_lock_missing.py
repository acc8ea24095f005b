"""A lock that the settings name has to be there: without it, drift would go unseen."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run_tests(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def test_a_deleted_lock_fails_the_tests(tmp_path: Path) -> None:
    for folder in ("protocol", "fixtures/rotation", "fixtures/snapshot"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    settings = '[tool.wirelock]\nprotocols = "protocol:PROTOCOLS"\n'
    (tmp_path / "pyproject.toml").write_text(settings + 'lock = "protocol/wirelock.lock"\n')
    assert run_tests(tmp_path).returncode == 0
    (tmp_path / "protocol/wirelock.lock").unlink()
    run = run_tests(tmp_path)
    assert run.returncode == 1
    assert "wirelock.lock" in run.stdout.splitlines()[-2]
    assert "1 failed" in run.stdout.splitlines()[-1]
    (tmp_path / "pyproject.toml").write_text(settings)  # a project that has released nothing yet
    assert run_tests(tmp_path).returncode == 0
