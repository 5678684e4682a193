"""Readers of reports that take what their consumers take, and refuse what those refuse.

Each is written after the consumer's own source, which is named at it; nothing that gaplint itself knows is used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree


class Refused(AssertionError):
    """The consumer would not take it."""


# GitHub's runner: ActionCommand.cs and ActionCommandManager.cs of actions/runner

_COMMANDS = frozenset(
    {
        "add-mask", "add-matcher", "add-path", "debug", "echo", "endgroup", "error", "group", "notice",
        "remove-matcher", "save-state", "set-env", "set-output", "stop-commands", "warning",
    }
)  # fmt: skip
_DATA = (("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))
_PROPERTY = (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%"))
_OLD = (("%3B", ";"), ("%0D", "\r"), ("%0A", "\n"), ("%5D", "]"), ("%25", "%"))


@dataclass(frozen=True)
class Command:
    """A command that the runner would carry out."""

    name: str
    properties: Mapping[str, str]
    data: str


def github_commands(output: str) -> list[Command]:
    """The commands in what a step prints."""
    return [command for line in re.split(r"\r\n|\r|\n", output) if (command := _command(line)) is not None]


def _command(line: str) -> Command | None:
    bare = line.lstrip()
    if bare.startswith("::") and "::" in bare[2:]:
        head, _, data = bare[2:].partition("::")
        name, _, listed = head.partition(" ")
        if name.lower() in _COMMANDS:
            return Command(name.lower(), _properties(listed, ",", _PROPERTY), _unescaped(data, _DATA))
    _, found, rest = line.partition("##[")
    head, closed, data = rest.partition("]")
    name, _, listed = head.partition(" ")
    if found and closed and name.lower() in _COMMANDS:
        return Command(name.lower(), _properties(listed, ";", _OLD), _unescaped(data, _OLD))
    return None


def _properties(listed: str, separator: str, escapes: tuple[tuple[str, str], ...]) -> dict[str, str]:
    pairs = (one.partition("=") for one in listed.strip().split(separator))
    return {name: _unescaped(value, escapes) for name, _, value in pairs if name and value}


def _unescaped(text: str, escapes: tuple[tuple[str, str], ...]) -> str:
    for token, character in escapes:
        text = text.replace(token, character)
    return text


def github_annotations(output: str) -> list[Command]:
    """The annotations in what a step prints, where it prints nothing else. Raises Refused for what the runner drops."""
    commands = github_commands(output)
    if len(commands) != len(output.splitlines()):
        raise Refused("there are lines that are no commands")
    for command in commands:
        if command.name not in ("error", "warning", "notice"):
            raise Refused(f"{command.name} annotates nothing")
        known = {"file", "line", "endLine", "col", "endColumn", "title"}
        if command.properties.keys() - known or not command.data:
            raise Refused(f"not understood: {command}")
        line, last, column, end = (
            int(command.properties.get(key, 0)) for key in ("line", "endLine", "col", "endColumn")
        )
        if last < line or (last != line and (column or end)) or (column and end < column) or not line:
            raise Refused(f"no range: {command.properties}")
    return commands


# GitLab: app/validators/json_schemas/codeclimate.json and Gitlab::Ci::Reports::CodequalityReports


def gitlab_issues(report: str) -> dict[str, dict[str, Any]]:
    """The issues that a merge request shows, by fingerprint. Raises Refused."""
    issues: dict[str, dict[str, Any]] = {}
    for issue in _json(report):
        for key in ("description", "fingerprint", "severity"):
            if not isinstance(issue[key], str) or not issue[key]:
                raise Refused(f"{key} is no text: {issue}")
        path, begin = issue["location"]["path"], issue["location"]["lines"]["begin"]
        if not isinstance(path, str) or type(begin) is not int or begin < 1:
            raise Refused(f"no place: {issue['location']}")
        if issue["severity"] not in ("blocker", "critical", "major", "minor", "info"):
            raise Refused(f"{issue['severity']} is shown as unknown")
        if issue["fingerprint"] in issues:
            raise Refused(f"it takes the place of another: {issue['fingerprint']}")
        issues[issue["fingerprint"]] = issue
    return issues


# reviewdog: proto/rdf/reviewdog.proto, read by protojson, which refuses what is not in it

_SEVERITY = frozenset({"UNKNOWN_SEVERITY", "ERROR", "WARNING", "INFO"})
_MESSAGES: dict[str, dict[str, Any]] = {
    "DiagnosticResult": {"diagnostics": ["Diagnostic"], "source": "Source", "severity": _SEVERITY},
    "Diagnostic": {
        "message": str,
        "location": "Location",
        "severity": _SEVERITY,
        "source": "Source",
        "code": "Code",
        "suggestions": ["Suggestion"],
        "original_output": str,
        "related_locations": ["RelatedLocation"],
    },
    "Location": {"path": str, "range": "Range"},
    "RelatedLocation": {"message": str, "location": "Location"},
    "Range": {"start": "Position", "end": "Position"},
    "Position": {"line": int, "column": int},
    "Suggestion": {"range": "Range", "text": str},
    "Source": {"name": str, "url": str},
    "Code": {"value": str, "url": str},
}


def reviewdog_diagnostics(report: str) -> list[dict[str, Any]]:
    """The diagnostics of a report in rdjson. Raises Refused."""
    data = _json(report)
    _message("DiagnosticResult", data)
    for diagnostic in data["diagnostics"]:
        _ordered(diagnostic["location"]["range"])
    return list(data["diagnostics"])


def _message(name: str, value: Any) -> None:
    fields = _MESSAGES[name]
    if not isinstance(value, dict) or value.keys() - fields.keys():
        raise Refused(f"no {name}: {value}")
    for key, one in value.items():
        match fields[key]:
            case [message]:
                for item in one:
                    _message(message, item)
            case str() as message:
                _message(message, one)
            case frozenset() as names if one not in names:
                raise Refused(f"{name}.{key} is {one}")
            case type() as kind if type(one) is not kind or (kind is int and not 1 <= one < 2**31):
                raise Refused(f"{name}.{key} is {one!r}")


def _ordered(span: dict[str, dict[str, int]]) -> None:
    start, end = ((span[key]["line"], span[key]["column"]) for key in ("start", "end"))
    if end < start:
        raise Refused(f"it ends before it starts: {span}")


def _json(text: str) -> Any:
    """JSON as strict readers take it: no lone surrogates, no NaN."""
    data = json.loads(text, parse_constant=lambda name: _refuse(f"{name} is no JSON"))
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError as problem:
        raise Refused("a lone surrogate") from problem
    return data


def _refuse(why: str) -> None:
    raise Refused(why)


# Jenkins: junit-10.xsd of the xUnit plugin


@dataclass(frozen=True)
class _Element:
    required: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    children: frozenset[str] = frozenset()
    text: bool = field(default=False)


_OUTCOME = _Element(optional=frozenset({"type", "message"}), text=True)
_JUNIT = {
    "testsuites": _Element(
        optional=frozenset({"name", "time", "tests", "failures", "errors"}), children=frozenset({"testsuite"})
    ),
    "testsuite": _Element(
        required=frozenset({"name", "tests", "failures", "errors"}),
        optional=frozenset(
            {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"}
        ),
        children=frozenset({"testsuite", "properties", "testcase", "system-out", "system-err"}),
    ),
    "testcase": _Element(
        required=frozenset({"name"}),
        optional=frozenset({"time", "classname", "group"}),
        children=frozenset({"skipped", "error", "failure", "system-out", "system-err"}),
    ),
    "failure": _OUTCOME,
    "error": _OUTCOME,
    "skipped": _OUTCOME,
    "system-out": _Element(text=True),
}


def junit_suites(report: str) -> list[ElementTree.Element]:
    """The suites of a JUnit report whose counts are true. Raises Refused."""
    root = ElementTree.fromstring(report.encode())
    if root.tag != "testsuites":
        raise Refused(f"the root is {root.tag}")
    for element in root.iter():
        known = _JUNIT[element.tag]
        if element.attrib.keys() - known.required - known.optional or known.required - element.attrib.keys():
            raise Refused(f"attributes of {element.tag}: {element.attrib}")
        if {child.tag for child in element} - known.children:
            raise Refused(f"children of {element.tag}")
        if not known.text and "".join(_between(element)).strip():
            raise Refused(f"text in {element.tag}")
    for suite in (root, *root):
        for count, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if count in suite.attrib and int(suite.attrib[count]) != len(list(suite.iter(tag))):
                raise Refused(f"{count} of {suite.attrib}")
    return list(root)


def _between(element: ElementTree.Element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield child.tail or ""
