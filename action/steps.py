"""The steps of the GitHub Action: `install` makes an environment with gaplint, `check` lints and writes the results.

Everything comes in through the environment: the action's inputs as GAPLINT_*, the rest as the runner sets it. No shell
sees any of it, and nothing of the linted repository is run or imported (python -I). Standard library only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

WRONG = 2
NO_BASE = "none"
_DISTRIBUTION = "kube-gaplint"
_VERSION = re.compile(r"[0-9][0-9A-Za-z.+!-]*")
_SUMMARY_LIMIT = 1_000_000  # the runner drops a summary of more than 1 MiB
_COUNTS = {"errors": "error", "warnings": "warning", "notes": "info"}


class Problem(Exception):
    """The step cannot do its work. The message says why and what to do."""


def install(environment: Mapping[str, str]) -> int:
    """Make an environment with gaplint; the output `gaplint` is the path of the command. Raises Problem."""
    version = environment.get("GAPLINT_VERSION", "").strip().removeprefix("v")
    if version and not _VERSION.fullmatch(version):
        raise Problem(f"the input version is no release: {version!r}; one looks like 0.1.0")
    what = f"{_DISTRIBUTION}=={version}" if version else str(Path(__file__).resolve().parents[1])
    folder = Path(environment["RUNNER_TEMP"]) / "gaplint"
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    _call([sys.executable, "-I", "-m", "venv", str(folder)], "there is no environment for gaplint")
    pip = [str(scripts / "python"), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _call([*pip, what], f"{what} cannot be installed")
    _put(environment, "gaplint", str(scripts / "gaplint"))
    return 0


def check(environment: Mapping[str, str]) -> int:
    """Lint; the result is the exit code of gaplint. Raises Problem."""
    temporary = Path(environment["RUNNER_TEMP"])
    sarif = Path(environment.get("GAPLINT_SARIF_FILE") or temporary / "gaplint.sarif").absolute()
    reports = {"sarif": sarif, "json": temporary / "gaplint.json", "markdown": temporary / "gaplint.md"}
    for path in reports.values():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)
        except OSError as problem:
            raise Problem(f"no report can be written to {str(path)!r}: {problem.strerror}") from problem
    sys.stdout.flush()
    code = subprocess.run(_command(environment, reports), check=False).returncode
    if reports["json"].exists():
        found = json.loads(reports["json"].read_text(encoding="utf-8"))["summary"]["findings"]
        _put(environment, "findings", str(sum(found.values())))
        for name, severity in _COUNTS.items():
            _put(environment, name, str(found[severity]))
        _put(environment, "sarif-file", str(sarif))
        _summarise(environment, reports["markdown"].read_text(encoding="utf-8"))
    elif code not in (0, 1):
        raise Problem(f"gaplint exited with {code} and gave no report; its message stands above")
    return code


def _command(environment: Mapping[str, str], reports: Mapping[str, Path]) -> list[str]:
    command = [environment["GAPLINT"], "check", "--format", environment.get("GAPLINT_FORMAT") or "github"]
    for name, path in reports.items():
        command += ["--output", f"{name}={path}"]
    for option in ("config", "baseline", "fail-on"):
        value = environment.get(f"GAPLINT_{option.upper().replace('-', '_')}", "")
        if value:
            command += [f"--{option}={value}"]
    base = environment.get("GAPLINT_DIFF_BASE", "").strip() or base_of(environment)
    if base and base != NO_BASE:
        command += [f"--diff-base={base}"]
    command += _words(environment, "args")
    return [*command, "--", *(_words(environment, "paths") or ["."])]


def _words(environment: Mapping[str, str], name: str) -> list[str]:
    try:
        return shlex.split(environment.get(f"GAPLINT_{name.upper()}", ""))
    except ValueError as problem:
        raise Problem(f"the input {name} cannot be split into words: {problem}") from problem


# What a pull request changes


def base_of(environment: Mapping[str, str]) -> str:
    """The commit that a pull request (or a merge queue) is compared with, fetched if need be; empty for other events.

    Raises Problem.
    """
    event = _event(environment)
    sha = str(
        (event.get("pull_request") or {}).get("base", {}).get("sha", "")
        or (event.get("merge_group") or {}).get("base_sha", "")
    )
    if not sha:
        return ""
    head = environment.get("GITHUB_SHA", "")
    parents = _parents("HEAD")
    if len(parents) == 2 and head == _git("rev-parse", "HEAD"):
        # GitHub's own merge of the branch: its first parent is exactly what the branch is merged into.
        sha, wanted = parents[0], ("--depth=2", "origin", head)
    else:
        wanted = ("--depth=1", "origin", sha)
    if not _is_there(sha):
        _git("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", *wanted)
    if not _is_there(sha):
        raise Problem(
            f"the base of the pull request ({sha[:12]}) is not in this clone and could not be fetched: give "
            "actions/checkout `fetch-depth: 0`, or this action `diff-base: none` to report everything"
        )
    return sha


def _event(environment: Mapping[str, str]) -> dict[str, Any]:
    path = environment.get("GITHUB_EVENT_PATH", "")
    try:
        event = json.loads(Path(path).read_text(encoding="utf-8")) if path else {}
    except (OSError, ValueError):
        return {}
    return event if isinstance(event, dict) else {}


def _parents(revision: str) -> list[str]:
    """The parents of a commit as it was made; a shallow clone has cut them off for all other commands."""
    lines = _git("cat-file", "commit", revision).partition("\n\n")[0].splitlines()
    return [line.removeprefix("parent ") for line in lines if line.startswith("parent ")]


def _is_there(sha: str) -> bool:
    return bool(_git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{sha}^{{commit}}"))


def _git(*arguments: str) -> str:
    """What git answers, or nothing where it fails; why goes to the log."""
    command = ["git", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    except FileNotFoundError:
        return ""
    return done.stdout.decode("utf-8", "replace").strip() if not done.returncode else ""


# What the runner is told


def _put(environment: Mapping[str, str], name: str, value: str) -> None:
    """Set an output of the step; no value can end it early, since the mark is not to be guessed."""
    mark = uuid.uuid4().hex
    with Path(environment["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as file:
        file.write(f"{name}<<{mark}\n{value}\n{mark}\n")


def _summarise(environment: Mapping[str, str], text: str) -> None:
    """Add a report to the summary of the job, as much of it as the runner takes."""
    path = environment.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return
    data = text.encode()
    if len(data) > _SUMMARY_LIMIT:
        data = data[: data.rfind(b"\n", 0, _SUMMARY_LIMIT) + 1]
        data += b"\n\nThe report is longer than a summary may be; the SARIF file holds all of it.\n"
    with Path(path).open("ab") as file:
        file.write(data)


def _call(command: Sequence[str], failed: str) -> None:
    if subprocess.run(command, check=False).returncode:
        raise Problem(f"{failed}; the reason stands above")


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def main(arguments: Sequence[str]) -> int:
    steps = {"install": install, "check": check}
    try:
        return steps[arguments[0]](os.environ)
    except Problem as problem:
        print(f"::error title=gaplint::{_escaped(str(problem))}", flush=True)
        return WRONG


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
