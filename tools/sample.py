"""Draw findings over real repositories and write a sheet for people to judge.

    tools/sample.py FOLDER… --count 60 --seed "$(git rev-parse HEAD)" > sheet.md

The draw is stable: findings are ordered by a hash of the seed and what they say, and taken in turn from each rule, so
that a rule with thousands of findings does not crowd out the others. The same folders, rules and seed give the same
sheet; another seed gives another one. Whoever judges fills in the verdict: right, wrong, or unsure, and why.
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
from typing import Any, TypeAlias

Finding: TypeAlias = dict[str, Any]

CONTEXT_LINES = 4
LONGEST_SNIPPET = 24
WIDEST_LINE = 200


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--count", type=int, default=20, help="findings to draw (default 20)")
    parser.add_argument("--seed", default="0", help="any text; by custom the commit that is judged")
    parser.add_argument("--codes", default="", help="codes or families, by commas (default: all rules)")
    parser.add_argument("--min-severity", default="warning", choices=("error", "warning", "info"))
    parser.add_argument("--gaplint", default="gaplint", help="the command to run (default gaplint)")
    parser.add_argument("--output", type=Path, help="write to this file instead of standard output")
    options = parser.parse_args(arguments)
    findings = [
        finding
        for folder in options.folders
        for finding in run(options.gaplint, folder, options.min_severity, options.codes)
    ]
    drawn = draw(findings, options.count, options.seed)
    text = "".join(f"{line}\n" for line in sheet(drawn, findings, options.folders, options.seed))
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
    outcome = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if outcome.returncode not in {0, 1}:
        raise SystemExit(f"{shlex.join(command)} ended with {outcome.returncode}:\n{outcome.stderr}")
    findings: list[Finding] = json.loads(outcome.stdout)["findings"]
    return [finding for finding in findings if finding.get("suppressed") is None]


def rank(seed: str, finding: Finding) -> str:
    """A finding's place in the draw: a hash of the seed and of what it says and where."""
    location = finding["location"]
    said = [seed, finding["code"], location["file"], location["line"], location["column"], finding["message"]]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def draw(findings: Sequence[Finding], count: int, seed: str) -> list[Finding]:
    """Up to `count` findings, taken in turn from each rule."""
    by_code: dict[str, list[tuple[str, Finding]]] = {}
    for finding in findings:
        by_code.setdefault(finding["code"], []).append((rank(seed, finding), finding))
    for group in by_code.values():
        group.sort(key=lambda ranked: ranked[0])
    order = sorted(by_code, key=lambda code: hashlib.sha256(f"{seed} {code}".encode()).hexdigest())
    drawn: list[Finding] = []
    turn = 0
    while len(drawn) < count and any(len(by_code[code]) > turn for code in order):
        for code in order:
            if len(by_code[code]) > turn and len(drawn) < count:
                drawn.append(by_code[code][turn][1])
        turn += 1
    return sorted(drawn, key=lambda finding: (finding["code"], rank(seed, finding)))


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


def snippet(location: dict[str, Any]) -> Iterator[str]:
    """The lines around a place, the place's own marked with `>`."""
    path = Path(location["file"])
    try:
        lines = path.read_bytes().decode("utf-8", "replace").splitlines()
    except OSError as problem:
        yield f"(cannot be read: {problem.strerror})"
        return
    first, last = location["line"], location.get("endLine") or location["line"]
    start = max(1, first - CONTEXT_LINES)
    end = min(len(lines), last + CONTEXT_LINES, start + LONGEST_SNIPPET)
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
