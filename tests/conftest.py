"""Settings for the whole suite, and its fences: no test goes on the network, few start programs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Nothing is remembered from one test to another, nor in the home of whoever runs them; the tests of the cache bring
# their own. It is set before anything else: many tests copy the environment for the programs that they start.
os.environ["GAPLINT_NO_CACHE"] = "1"

# A suite that a shell starts in the background ignores interrupts, and so would every program that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Time says more about the machine than about the code: it belongs into benchmarks.
settings.register_profile("gaplint", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("gaplint")

MAY_START_PROGRAMS = (
    "cache/test_replay.py",  # the command line as a process
    "cli/",  # the command line as a process
    "delivery/",  # pre-commit, pip, editors, actions
    "hostile/",  # the command line with little memory
    "site/",  # mkdocs and a browser
    "bundle/test_kustomize.py",  # compares with a kustomize that is installed
    "launch/test_shell_bash.py",  # compares with bash
    "launch/test_shell_parser.py",  # the same
    "launch/test_start.py",  # imports in a fresh process
    "report/test_html.py",  # looks at the page with a browser, where there is one
    "test_accuracy.py",  # tools over repositories of git
    "test_ecosystem.py",  # the same
    "test_fix.py",  # patches are applied by git
    "test_revision.py",  # git
    "test_rules.py",  # imports in a fresh process
    "test_startup.py",  # the same
)
"""Test files (and folders) that start other programs; gaplint itself must not, in any other test."""
MAY_USE_SOCKETS = ("delivery/", "hostile/", "site/")
"""Those that talk to a program of their own, over sockets of this machine."""

_PROGRAMS = frozenset(
    {"subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.startfile", "pty.spawn"}
)
_NETWORK = frozenset(
    {"socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"}
)


class Fenced(BaseException):
    """A test, or gaplint in it, did what it must not. No `except Exception` may hide that."""


class _Fences:
    """What is forbidden now. An audit hook cannot be taken away again, so it asks here."""

    def __init__(self) -> None:
        self.events: frozenset[str] = frozenset()

    def watch(self, event: str, arguments: tuple[object, ...]) -> None:
        if event in self.events:
            raise Fenced(f"{event} {arguments!r:.200}: tests/conftest.py names the tests that may")


FENCES = _Fences()
sys.addaudithook(FENCES.watch)


@pytest.fixture(autouse=True)
def fences(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let each test do only what its file may."""
    name = request.path.relative_to(Path(__file__).parent).as_posix()
    programs = frozenset() if name.startswith(MAY_START_PROGRAMS) else _PROGRAMS
    network = frozenset() if name.startswith(MAY_USE_SOCKETS) else _NETWORK
    FENCES.events = programs | network
    try:
        yield
    finally:
        FENCES.events = frozenset()
