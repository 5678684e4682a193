"""Folders to measure on, made from the project's own fixtures and a few templates: the same for every run.

A relevant file is a fixture whose names carry a number, so that no two are alike. An irrelevant one is what lies
beside manifests in a real repository: serving objects, workflows, values files, text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

FIXTURES = Path(__file__).parent.parent / "fixtures"
FOLDER_SIZE = 50
IGNORED = "\n".join(f"ignored-{number}/*.tmp" for number in range(20))
"""A .gitignore of the usual length: each pattern is tried on every file."""

_SERVICE = """apiVersion: v1
kind: Service
metadata: {{name: web-{number}, labels: {{app: web-{number}}}}}
spec:
  selector: {{app: web-{number}}}
  ports:
  - {{name: http, port: 80, targetPort: 8080}}
"""
_DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: web-{number}
spec:
  replicas: 3
  selector:
    matchLabels: {{app: web-{number}}}
  template:
    metadata:
      labels: {{app: web-{number}}}
    spec:
      containers:
      - name: web
        image: registry.example/web:1.{number}
        ports: [{{containerPort: 8080}}]
        resources:
          requests: {{cpu: 100m, memory: 128Mi}}
"""
_WORKFLOW = """name: check {number}
on: [push]
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
    - uses: actions/checkout@v4
    - run: make test
"""
_VALUES = """replicaCount: {number}
image:
  repository: registry.example/web
  tag: "1.{number}"
service:
  type: ClusterIP
  port: 80
"""
_TEXT = "# Notes {number}\n\n" + "What was decided, and why.\n" * 20
IRRELEVANT = (
    ("service-{number}.yaml", _SERVICE),
    ("deployment-{number}.yaml", _DEPLOYMENT),
    ("workflow-{number}.yml", _WORKFLOW),
    ("values-{number}.yaml", _VALUES),
    ("notes-{number}.md", _TEXT),
)


def relevant() -> list[tuple[str, str]]:
    """Single-file fixtures, name and text, in order; none that is no YAML, behind which nothing of a file is read."""
    found = sorted(
        path
        for path in FIXTURES.glob("[A-Z]*/*")
        if path.suffix in {".yaml", ".sbatch"} and not path.parent.name.startswith("GAP")
    )
    return [(f"{path.parent.name.lower()}-{path.name}", path.read_text()) for path in found]


def _numbered(text: str, number: int) -> str:
    return re.sub(r"(?m)^(\s*(?:metadata: \{)?name: )([\w.-]+)", rf"\g<1>\g<2>-{number}", text)


def files(count: int, share: float) -> Iterator[tuple[str, str]]:
    """`count` files as path and text, of which `share` (0 to 1) are relevant, spread evenly."""
    ours, others = cycle(relevant()), cycle(IRRELEVANT)
    given = 0
    for number in range(count):
        folder = f"part-{number // FOLDER_SIZE:03}"
        if given < round((number + 1) * share):
            given += 1
            name, text = next(ours)
            yield f"{folder}/{number}-{name}", _numbered(text, number)
        else:
            name, text = next(others)
            yield f"{folder}/{name.format(number=number)}", text.format(number=number)


def write(root: Path, count: int, share: float) -> Path:
    """Write a corpus below `root`, once; its folder."""
    folder = root / f"files-{count}-{round(share * 100)}"
    done = folder / ".done"
    if not done.exists():
        for name, text in files(count, share):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (folder / ".gitignore").write_text(IGNORED + "\n")
        done.touch()
    return folder


def write_large(root: Path, kilobytes: int) -> Path:
    """One file of about so many kilobytes: documents of relevant fixtures, one after the other."""
    path = root / f"large-{kilobytes}.yaml"
    if not path.exists():
        texts = [text for name, text in relevant() if name.endswith(".yaml")]
        wanted, parts, size = kilobytes * 1024, [], 0
        for number, text in enumerate(islice(cycle(texts), 100_000)):
            if size >= wanted:
                break
            part = _numbered(text, number).removeprefix("---\n")
            parts.append(part if part.endswith("\n") else part + "\n")
            size += len(part) + 4
        path.write_text("---\n".join(parts))
    return path
