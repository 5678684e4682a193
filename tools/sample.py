"""Draw findings, or workloads without any, over real repositories and write a sheet for people to judge.

    tools/sample.py FOLDER… --count 60 --seed "$(git rev-parse HEAD)" > sheet.md
    tools/sample.py FOLDER… --quiet-workloads --count 60 --seed "$(git rev-parse HEAD)" > quiet.md

The draw is stable: findings are ordered by a hash of the seed and what they say, and taken in turn from each rule, so
that a rule with thousands of findings does not crowd out the others. Quiet workloads are those of the class (training)
that no finding of at least the severity speaks of; they are taken in turn from each folder, and shown with what gaplint
understood of them. The same folders, rules and seed give the same sheet; another seed gives another one. Whoever judges
fills in the verdict: right, wrong, or unsure, and why; of a quiet workload: nothing missed, or what.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

Finding: TypeAlias = dict[str, Any]
Workload: TypeAlias = dict[str, Any]
Item = TypeVar("Item")

CONTEXT_LINES = 4
LONGEST_SNIPPET = 24
LONGEST_OBJECT = 400
WIDEST_LINE = 200


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=20, help="findings or workloads to draw (default 20)")
    parser.add_argument("--seed", default="0", help="any text; by custom the commit that is judged")
    parser.add_argument("--codes", default="", help="codes or families, by commas (default: all rules)")
    parser.add_argument("--min-severity", default="warning", choices=("error", "warning", "info"))
    parser.add_argument("--quiet-workloads", action="store_true", help="draw workloads that have no finding")
    parser.add_argument("--class", dest="purpose", default="training", help="their class (default training; `any`)")
    parser.add_argument("--gaplint", default="gaplint", help="the command to run (default gaplint)")
    parser.add_argument("--output", type=Path, help="write to this file instead of standard output")
    options = parser.parse_args(arguments)
    if options.quiet_workloads:
        lines = quiet_sheet(options)
    else:
        findings = [
            finding
            for folder in options.folders
            for finding in run(options.gaplint, folder, options.min_severity, options.codes)
        ]
        lines = sheet(draw(findings, options.count, options.seed), findings, options.folders, options.seed)
    text = "".join(f"{line}\n" for line in lines)
    if options.output is not None:
        options.output.write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return 0


def run(gaplint: str, folder: Path, min_severity: str, codes: str) -> list[Finding]:
    """All findings of a folder that are not suppressed. Raises SystemExit where gaplint fails."""
    command = [
        *shlex.split(gaplint), str(folder), "--format", "json", "--isolated", "--fail-on", "never",
        "--min-severity", min_severity,
    ]  # fmt: skip
    if codes:
        command += ["--select", codes]
    findings: list[Finding] = _json_of(command)["findings"]
    return [finding for finding in findings if finding.get("suppressed") is None]


def workloads(gaplint: str, folder: Path) -> list[Workload]:
    """All workloads of a folder, as `gaplint show` has them. Raises SystemExit where gaplint fails."""
    found: list[Workload] = _json_of([*shlex.split(gaplint), "show", str(folder), "--format", "json", "--isolated"])[
        "workloads"
    ]
    return found


def _json_of(command: list[str]) -> dict[str, Any]:
    outcome = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if outcome.returncode not in {0, 1}:
        raise SystemExit(f"{shlex.join(command)} ended with {outcome.returncode}:\n{outcome.stderr}")
    answer: dict[str, Any] = json.loads(outcome.stdout)
    return answer


def rank(seed: str, finding: Finding) -> str:
    """A finding's place in the draw: a hash of the seed and of what it says and where."""
    location = finding["location"]
    said = [seed, finding["code"], location["file"], location["line"], location["column"], finding["message"]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def draw(findings: Sequence[Finding], count: int, seed: str) -> list[Finding]:
    """Up to `count` findings, taken in turn from each rule."""
    groups: dict[str, list[tuple[str, Finding]]] = {}
    for finding in findings:
        groups.setdefault(finding["code"], []).append((rank(seed, finding), finding))
    drawn = in_turn(groups, count, seed)
    return sorted(drawn, key=lambda finding: (finding["code"], rank(seed, finding)))


def in_turn(groups: dict[str, list[tuple[str, Item]]], count: int, seed: str) -> list[Item]:
    """Up to `count` ranked items, one after the other from each group, the groups in an order of the seed."""
    for group in groups.values():
        group.sort(key=lambda ranked: ranked[0])
    order = sorted(groups, key=lambda name: hashlib.sha256(f"{seed} {name}".encode()).hexdigest())
    drawn: list[Item] = []
    turn = 0
    while len(drawn) < count and any(len(groups[name]) > turn for name in order):
        for name in order:
            if len(groups[name]) > turn and len(drawn) < count:
                drawn.append(groups[name][turn][1])
        turn += 1
    return drawn


# Workloads without findings


def quiet(found: Sequence[Workload], findings: Sequence[Finding], purpose: str) -> list[Workload]:
    """The workloads of a class that no finding speaks of.

    A finding names its object and a place, which may be in another file (a ConfigMap, a base). Where several objects
    have one name, the file tells which of them is meant; where it does not, all of them count as found.
    """
    files: dict[tuple[str, ...], set[str]] = {}
    for workload in found:
        files.setdefault(_name(workload["object"]), set()).add(workload["location"]["file"])
    noisy: set[tuple[tuple[str, ...], str]] = set()
    for finding in findings:
        name, file = _name(finding["object"] or {}), finding["location"]["file"]
        own = files.get(name, set())
        noisy.update((name, one) for one in ({file} if file in own else own))
    return [
        workload
        for workload in found
        if purpose in ("any", workload["purpose"])
        and (_name(workload["object"]), workload["location"]["file"]) not in noisy
    ]


def _name(subject: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(subject.get(key) or "") for key in ("kind", "namespace", "name"))


def draw_workloads(by_folder: dict[str, list[Workload]], count: int, seed: str) -> list[Workload]:
    """Up to `count` workloads, taken in turn from each folder."""
    groups = {
        folder: [(workload_rank(seed, workload), workload) for workload in found] for folder, found in by_folder.items()
    }
    return in_turn(groups, count, seed)


def workload_rank(seed: str, workload: Workload) -> str:
    """A workload's place in the draw: a hash of the seed and of what it is and where."""
    location = workload["location"]
    said = [seed, *_name(workload["object"]), location["file"], location["line"]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def quiet_sheet(options: argparse.Namespace) -> Iterator[str]:
    """The sheet of quiet workloads, in Markdown."""
    by_folder: dict[str, list[Workload]] = {}
    rows = []
    for folder in options.folders:
        found = workloads(options.gaplint, folder)
        findings = run(options.gaplint, folder, options.min_severity, options.codes)
        left = quiet(found, findings, options.purpose)
        of_class = sum(options.purpose in ("any", workload["purpose"]) for workload in found)
        by_folder[str(folder)] = left
        commit = revision(folder)
        named = f"`{folder}`" + (f" at `{commit}`" if commit else "")
        rows.append(f"| {named} | {len(found)} | {of_class} | {len(left)} |")
    drawn = draw_workloads(by_folder, options.count, options.seed)
    total = sum(map(len, by_folder.values()))
    yield f"# {len(drawn)} of {total} quiet workloads ({options.purpose}), seed {options.seed}"
    yield ""
    yield f"Quiet: no finding of severity {options.min_severity} or above" + (
        f" of {options.codes}." if options.codes else "."
    )
    yield ""
    yield "| folder | workloads | of the class | quiet |"
    yield "| --- | ---: | ---: | ---: |"
    yield from rows
    yield ""
    yield "| # | workload | place | missed | why |"
    yield "| ---: | --- | --- | --- | --- |"
    for number, workload in enumerate(drawn, 1):
        yield f"| [{number}](#{number}) | {plain(_title(workload))} | {cell(place(workload['location']))} | | |"
    for number, workload in enumerate(drawn, 1):
        yield ""
        yield from workload_entry(number, workload)


def _title(workload: Workload) -> str:
    kind, namespace, name = _name(workload["object"])
    return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}".rstrip()


def workload_entry(number: int, workload: Workload) -> Iterator[str]:
    """One workload: what gaplint understood in short, and the lines that it stands in."""
    yield f'<a id="{number}"></a>'
    yield ""
    yield f"## {number}. {plain(_title(workload))}"
    yield ""
    yield f"{cell(place(workload['location']))} · {plain(workload['purpose'])}: {plain(workload['purposeReason'])}"
    yield ""
    for label, text in understood(workload):
        yield f"- {label}: {plain(text)}"
    # A batch script's place is its header; the program follows it.
    after = LONGEST_OBJECT if workload["object"]["kind"] == "sbatch" else CONTEXT_LINES
    yield from snippet(workload["location"], LONGEST_OBJECT, after)
    yield ""
    yield "Missed:"


def understood(workload: Workload) -> Iterator[tuple[str, str]]:
    """The values that rules mostly turn on, in words."""
    yield "nodes × accelerators", f"{said(workload['nodes'])} × {said(workload['acceleratorsPerNode'])}"
    yield "restart budget", said(workload["restartBudget"])
    for role in workload["roles"]:
        for container in role["containers"]:
            for process in container["processes"]:
                checkpoints = process["checkpoints"]
                chain = [launcher["kind"] for launcher in process["launchers"]]
                named = process["program"] or f"unknown ({process['opaqueBecause']})"
                yield f"process of {role['name'] or 'the pods'}", " → ".join([*chain, named])
                framework = process["framework"]
                yield "framework", framework["title"] if framework else "none recognised"
                yield "torch, NCCL", f"{said(process['torch'])}, {said(process['nccl'])}"
                yield "timeout", said(process["timeoutSeconds"])
                yield "saves every", said(checkpoints["interval"])
                yield "saves to", f"{said(checkpoints['path'])} ({checkpoints['storage']['state']})"
                yield "resumes", said(checkpoints["resume"])
    for note in workload["notes"]:
        yield "not seen", note


def said(value: dict[str, Any]) -> str:
    """A setting in a word, an unknown one with its reason."""
    if value["state"] == "unknown":
        return f"unknown ({value['reason']})"
    if value["state"] == "absent":
        return "none"
    found = value.get("value", "hidden")
    return f"{found['amount']} {found['unit']}" if isinstance(found, dict) else str(found)


# Findings


def sheet(
    drawn: Sequence[Finding], all_findings: Sequence[Finding], folders: Sequence[Path], seed: str
) -> Iterator[str]:
    """The sheet's lines, in Markdown."""
    yield f"# {len(drawn)} of {len(all_findings)} findings, seed {seed}"
    yield ""
    for folder in folders:
        commit = revision(folder)
        yield f"- `{folder}`" + (f" at `{commit}`" if commit else "")
    yield ""
    yield "| rule | found | drawn |"
    yield "| --- | ---: | ---: |"
    for code in sorted({finding["code"] for finding in all_findings}):
        found = sum(finding["code"] == code for finding in all_findings)
        yield f"| {code} | {found} | {sum(finding['code'] == code for finding in drawn)} |"
    yield ""
    yield "| # | finding | place | verdict | why |"
    yield "| ---: | --- | --- | --- | --- |"
    for number, finding in enumerate(drawn, 1):
        where = cell(place(finding["location"]))
        yield f"| [{number}](#{number}) | {finding['code']} {finding['name']} | {where} | | |"
    for number, finding in enumerate(drawn, 1):
        yield ""
        yield from entry(number, finding)


def entry(number: int, finding: Finding) -> Iterator[str]:
    """One finding with the lines that it is about."""
    subject = finding["object"]
    named = " ".join(
        str(subject[key]) for key in ("kind", "namespace", "name", "container") if subject and subject.get(key)
    )
    yield f'<a id="{number}"></a>'
    yield ""
    yield f"## {number}. {finding['code']} {finding['name']} ({finding['severity']})"
    yield ""
    yield f"**{plain(finding['message'])}**"
    if finding.get("consequence"):
        yield ""
        yield plain(finding["consequence"])
    yield ""
    yield f"{cell(place(finding['location']))} · {plain(named)}"
    yield from snippet(finding["location"])
    for related in finding.get("related", ()):
        location = related.get("location", related)
        yield ""
        yield f"{plain(related.get('note') or related.get('message') or '')} ({cell(place(location))})"
        yield from snippet(location)
    yield ""
    yield "Verdict:"


def snippet(location: dict[str, Any], longest: int = LONGEST_SNIPPET, after: int = CONTEXT_LINES) -> Iterator[str]:
    """The lines around a place, the place's own marked with `>`."""
    path = Path(location["file"])
    try:
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as problem:
        yield f"(cannot be read: {problem.strerror})"
        return
    first, last = location["line"], location.get("endLine") or location["line"]
    start = max(1, first - CONTEXT_LINES)
    end = min(len(lines), last + after, start + longest)
    shown = [
        f"{'>' if first <= row <= last else ' '} {row:5} {lines[row - 1][:WIDEST_LINE]}"
        for row in range(start, end + 1)
    ]
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", "\n".join(shown))), default=0))
    yield fence
    yield from shown
    yield fence


def place(location: dict[str, Any]) -> str:
    return f"{location['file']}:{location['line']}"


def plain(text: str) -> str:
    """Text that Markdown shows as it stands."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", " ".join(text.split()))


def cell(text: str) -> str:
    return f"`{text}`" if not set(text) & set("`|") else plain(text)


def revision(folder: Path) -> str:
    """The commit of a folder's repository; empty where it is none."""
    outcome = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False
    )
    return outcome.stdout.strip() if outcome.returncode == 0 else ""


if __name__ == "__main__":
    sys.exit(main())
