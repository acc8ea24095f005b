"""What all tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The same examples in every run of CI, so that a commit is judged for what it changes; new ones elsewhere.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("here", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "here")

pytest_plugins = ["pytester"]

_skipped: list[str] = []


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Let no test leave compiled code in the folder of whoever runs it."""
    os.environ["WIRELOCK_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Let a skipped test fail the run where everything is meant to be installed."""
    yield
    if os.environ.get("CI") and _skipped and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nskipped under CI: {', '.join(_skipped)}")
