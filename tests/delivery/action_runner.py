"""A small runner of GitHub Actions: it runs the `run` steps of this repository's action.yml as the real one would.

Steps get the runner's files (GITHUB_OUTPUT, GITHUB_STEP_SUMMARY, GITHUB_EVENT_PATH) and the variables of their `env`,
whose expressions are evaluated as far as the action uses them. Of the actions in `uses` nothing is run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

PROJECT = Path(__file__).parents[2]
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")
_SHELL = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail"]


def read_action() -> dict[str, Any]:
    return dict(YAML(typ="safe").load((PROJECT / "action.yml").read_text()))


@dataclass
class Outcome:
    """What a run leaves: its exit code, log, summary and the outputs of the action."""

    code: int
    log: str
    summary: str
    outputs: dict[str, str]

    @property
    def annotations(self) -> list[str]:
        return [line for line in self.log.splitlines() if re.match(r"::(error|warning|notice) ", line)]


@dataclass
class Runner:
    """A runner with a workspace. `steps` holds outputs of steps that are taken as done; those are not run."""

    workspace: Path
    temporary: Path
    event: dict[str, Any] = field(default_factory=dict)
    sha: str = ""
    steps: dict[str, dict[str, str]] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)

    def run(self, **inputs: str) -> Outcome:
        action = read_action()
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= action["inputs"].keys()
        values = {name: given.get(name, declared.get("default", "")) for name, declared in action["inputs"].items()}
        outputs, code, log = dict(self.steps), 0, ""
        summary = self._file("summary")
        for step in action["runs"]["steps"]:
            if "run" not in step or step["id"] in outputs:
                continue
            assert "${{" not in step["run"]  # text from outside must not become part of a script
            variables = {name: _evaluated(text, values, outputs) for name, text in step.get("env", {}).items()}
            code, said, outputs[step["id"]] = self._step(step, variables, summary)
            log += said
            if code:
                break
        results = {name: _evaluated(row["value"], values, outputs) for name, row in action["outputs"].items()}
        return Outcome(code, log, summary.read_text(), results)

    def _step(
        self, step: Mapping[str, Any], variables: dict[str, str], summary: Path
    ) -> tuple[int, str, dict[str, str]]:
        script = self._file("script.sh")
        script.write_text(step["run"])
        event, output = self._file("event.json"), self._file("output")
        event.write_text(json.dumps(self.event))
        done = subprocess.run(
            [*_SHELL, str(script)],
            cwd=self.workspace,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(self.temporary),
                **{name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))},
                "GITHUB_ACTIONS": "true",
                "GITHUB_ACTION_PATH": str(PROJECT),
                "GITHUB_EVENT_PATH": str(event),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_SHA": self.sha,
                "GITHUB_STEP_SUMMARY": str(summary),
                "GITHUB_WORKSPACE": str(self.workspace),
                "RUNNER_TEMP": str(self.temporary),
                **self.environment,
                **variables,
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        return done.returncode, done.stdout, _outputs(output.read_text())

    def _file(self, name: str) -> Path:
        path = self.temporary / f"_{name}"
        path.write_text("")
        return path


def _outputs(text: str) -> dict[str, str]:
    """The outputs in a file of the form `name<<mark`, value, `mark`."""
    found: dict[str, str] = {}
    lines = iter(text.splitlines())
    for line in lines:
        name, _, mark = line.partition("<<")
        value = []
        for below in lines:
            if below == mark:
                break
            value.append(below)
        found[name] = "\n".join(value)
    return found


def _evaluated(text: str, inputs: Mapping[str, str], steps: Mapping[str, Mapping[str, str]]) -> str:
    def term(one: str) -> str:
        if one.startswith("'"):
            return one.strip("'")
        match one.split("."):
            case ["inputs", name]:
                return inputs[name]
            case ["steps", step, "outputs", name]:
                return steps.get(step, {}).get(name, "")
        raise AssertionError(f"the test's runner does not know {one}")

    def value(match: re.Match[str]) -> str:
        return next(filter(None, (term(one.strip()) for one in match[1].split("||"))), "")

    return _EXPRESSION.sub(value, text)
