"""What commands read: paths, standard input and the configuration, and the answers where something is amiss."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from kube_gaplint import disk
from kube_gaplint.cli import console
from kube_gaplint.cli.failure import Failure, Misuse, did_you_mean
from kube_gaplint.cli.names import COMMANDS
from kube_gaplint.text.read import MAX_BYTES

if TYPE_CHECKING:
    from kube_gaplint.config import Config
    from kube_gaplint.engine import Reading, Request
    from kube_gaplint.findings import Report
    from kube_gaplint.report.show.gather import Choice
    from kube_gaplint.report.show.shape import Shown


class Inputs(Struct, frozen=True, dict=True):
    """The values of the options that say what is read."""

    paths: tuple[str, ...]
    stdin_filename: str = ""
    exclude: tuple[str, ...] = ()
    force_exclude: bool = False
    config_path: str = ""
    isolated: bool = False

    @cached_property
    def config(self) -> Config:
        """The configuration of this run. Raises Failure."""
        from kube_gaplint.config import Config, ConfigProblem, load

        if self.isolated:
            if self.config_path:
                raise Misuse("--isolated reads no configuration, and --config names one; give one of them.")
            return Config()
        try:
            return load(self.paths, self.config_path)
        except ConfigProblem as problem:
            raise Failure(f"the configuration is wrong\n{problem}") from problem

    def request(self) -> Request:
        """The request for a run, as far as inputs and configuration go. Raises Failure."""
        from kube_gaplint.discover import Exclusion
        from kube_gaplint.engine import Request

        config = self.config
        if self.exclude:
            _check_patterns(self.exclude)
        exclude = [Exclusion(config.exclude, config.folder), Exclusion(self.exclude)]
        return Request(
            paths=self.paths,
            stdin=standard_input(self.paths, self.stdin_filename),
            stdin_filename=self.stdin_filename,
            profile=config.profile,
            kinds=config.kinds,
            exclude=tuple(one for one in exclude if one.patterns),
            exclude_named=self.force_exclude,
        )


def _check_patterns(patterns: Sequence[str]) -> None:
    from kube_gaplint import git_patterns

    for pattern in patterns if len(patterns) <= git_patterns.MOST else ():
        reason = git_patterns.wrong_because(pattern)
        if reason:
            raise Misuse(f"--exclude: {pattern[:100]!r} is no pattern as in .gitignore: {reason}")


def standard_input(paths: Sequence[str], filename: str) -> bytes | None:
    """The bytes of standard input where a path is `-`, else None. Raises Failure for a wrong use."""
    if "-" not in paths:
        if filename:
            raise Misuse("--stdin-filename names standard input, but no path is `-`.")
        return None
    if sys.stdin is None:
        raise Failure("standard input is closed")
    if sys.stdin.isatty():
        console.hint("reading manifests from the terminal; end them with Ctrl-D")
    return sys.stdin.buffer.read(MAX_BYTES + 1)  # one more is too many, and told


def lint(request: Request, *, quiet: bool = False) -> Report:
    """The outcome of a run; unless it is to be quiet, a terminal is told how far it is.

    Raises Failure where the request cannot be served.
    """
    from kube_gaplint import engine
    from kube_gaplint.cli import waiting

    try:
        with waiting.shown(quiet=quiet):
            return engine.lint(request)
    except engine.UsageProblem as problem:
        raise wrong_paths(problem, request.paths) from problem


def read(request: Request) -> Reading:
    """What a request reads, understood and not judged. Raises Failure where the request cannot be served."""
    from kube_gaplint import engine

    try:
        return engine.read(request)
    except engine.UsageProblem as problem:
        raise wrong_paths(problem, request.paths) from problem


def understood(reading: Reading, choice: Choice | None = None) -> Shown:
    """What gaplint made of what it read."""
    from kube_gaplint.report.show.gather import gather

    return gather(
        reading.model.views,
        missed=reading.loaded.bundle.unresolved,
        problems=reading.problems,
        errors=reading.errors,
        summary=reading.summary(),
        choice=choice,
    )


def wrong_paths(problem: Exception, paths: Sequence[str]) -> Failure:
    """The error for a request that cannot be served; a missing path may be a misspelt command."""
    for path in paths:
        if path != "-" and not disk.exists(path):
            near = did_you_mean(path, COMMANDS)
            if path in COMMANDS:
                return Failure(f"{problem}\nThe command stands first: gaplint {path}, then options and paths.")
            if near:
                return Failure(f"{problem}\nThere is no command {path!r} either.{near}")
    return Failure(str(problem))
