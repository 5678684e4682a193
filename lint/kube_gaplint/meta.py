"""The codes of gaplint itself: what it says about files, references and suppressions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kube_gaplint.findings import Gap, Severity
from kube_gaplint.rule import Context, Rule

_ROWS = (
    (
        "GAP001",
        "invalid-yaml",
        Severity.ERROR,
        """A manifest is not valid YAML: what stands behind the mistake is not judged, or a value is lost.

## What it flags
A file that looks like a manifest (or was named on the command line) and that a YAML parser refuses: documents before
the mistake are judged as usual, those behind it are not. And, as a warning, a key that is given twice in one mapping:
the document is judged with the last of the two, as the API server reads it; info where both have the same value. Files
that a template engine, `envsubst`, `sed` or a program beside them makes YAML of are passed over and counted as
templates.

## Why it hurts
A linter that passes over a broken file reports "no problems" for a job that it never looked at. Of two values for one
key the first is lost without a word, and whoever reads the file may take it for the one in force.

## Bad
```yaml
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain
spec:
  backoffLimit: 3
```

## Good
```yaml
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain}
spec:
  backoffLimit: 3
```

## When to keep it
A template is no manifest: render it first (`helm template … | gaplint -`), or exclude the file.

## Fix safety
There is no automatic fix: which of two values is meant, or what the file was to say, is yours to tell.

## References
YAML 1.2 specification, https://yaml.org/spec/1.2.2/
""",
    ),
    (
        "GAP002",
        "over-a-limit",
        Severity.ERROR,
        """Something is larger or deeper than gaplint reads, so that part of it was not judged.

## What it flags
A file beyond the limits on size, nesting, number of values or expanded aliases; a script that is too long, runs too
many commands or nests too deeply; a Kustomize build that grows too large, and kustomizations that include one another
in a ring. The finding stands where reading stopped. The limits are far above any manifest that a cluster would accept
(etcd refuses objects beyond 1.5 MiB).

## Why it hurts
What was not read was not judged. gaplint says so instead of passing over the file in silence.

## Bad
A file whose aliases expand to billions of nodes, or that nests 200,000 brackets.

## Good
Split generated files, or exclude what is no manifest.

## When to keep it
Exclude data files that are no manifests (`--exclude`).

## Fix safety
There is no automatic fix.

## References
https://etcd.io/docs/latest/dev-guide/limit/ · all limits: docs/limits.md
""",
    ),
    (
        "GAP003",
        "unresolved-reference",
        Severity.INFO,
        """A workload refers to an object that is not in the given paths, so that some rules kept quiet about it.

## What it flags
An `envFrom` or mounted ConfigMap, a `runtimeRef`, a claim or a Kustomize base that was not found. What it holds is
unknown, and an unknown value never makes a rule fire.

## Why it hurts
The workload may have gaps that gaplint cannot see from here.

## Bad
Linting the job's file alone while the ConfigMap that sets its NCCL variables lives in another folder.

## Good
Give gaplint the folder that holds both, or the rendered output of the whole release.

## When to keep it
The object is created by something else (an operator, a secret store).

## Fix safety
There is no automatic fix.

## References
See "how gaplint decides" in the documentation.
""",
    ),
    (
        "GAP010",
        "unused-suppression",
        Severity.WARNING,
        """A suppression silences nothing.

## What it flags
A `gaplint: ignore[…]` comment or `gaplint.dev/ignore` annotation whose code is not reported for the object or line
that it stands on.

## Why it hurts
It hides the next real finding of that code, and tells readers of a risk that is no longer there.

## Bad
```yaml
backoffLimit: 3  # gaplint: ignore[RETRY001] restarted by hand
```

## Good
Remove the suppression together with the gap.

## When to keep it
Never; a code that is ignored on the command line or not selected is not counted as unused.

## Fix safety
There is no automatic fix.

## References
See "Suppressions" in the README.
""",
    ),
    (
        "GAP011",
        "suppression-without-reason",
        Severity.WARNING,
        """A suppression gives no reason, and is not in force.

## What it flags
`# gaplint: ignore[CODE]` with nothing behind it.

## Why it hurts
Whoever is paged at 3 a.m. needs to know why the warning was switched off.

## Bad
```yaml
backoffLimit: 0  # gaplint: ignore[RETRY001]
```

## Good
```yaml
backoffLimit: 0  # gaplint: ignore[RETRY001] until=2027-03-31 the scheduler resubmits failed runs
```

## When to keep it
Never.

## Fix safety
There is no automatic fix.

## References
See "Suppressions" in the README.
""",
    ),
    (
        "GAP012",
        "unknown-code-in-suppression",
        Severity.WARNING,
        """A suppression names a code that does not exist.

## What it flags
A code or rule name in a suppression that gaplint does not know; the nearest one is offered.

## Why it hurts
The finding that was meant is still reported, or will come back unnoticed.

## Bad
```yaml
backoffLimit: 0  # gaplint: ignore[RETRY01] the scheduler resubmits failed runs
```

## Good
```yaml
backoffLimit: 0  # gaplint: ignore[RETRY001] the scheduler resubmits failed runs
```

## When to keep it
Never.

## Fix safety
There is no automatic fix.

## References
`gaplint rules` lists all codes.
""",
    ),
    (
        "GAP013",
        "expired-suppression",
        Severity.WARNING,
        """A suppression is past its date, and is no longer in force.

## What it flags
`until=YYYY-MM-DD` that lies before today.

## Why it hurts
The date was set so that somebody looks again. Now is the time.

## Bad
```yaml
backoffLimit: 0  # gaplint: ignore[RETRY001] until=2020-01-01 replaced by a JobSet next quarter
```

## Good
Mend the gap, or set a new date with a reason that holds today.

## When to keep it
Never.

## Fix safety
There is no automatic fix.

## References
See "Suppressions" in the README.
""",
    ),
)


def _page(text: str) -> Any:
    def check(_view: object, _context: Context) -> Iterator[Gap]:
        return iter(())

    check.__doc__ = text
    return check


META_RULES: dict[str, Rule] = {
    code: Rule(
        code=code,
        name=name,
        view=object,
        severity=severity,
        check=_page(page),
        evidence_kind="facts",
        summary=page.split("\n", 1)[0],
    )
    for code, name, severity, page in _ROWS
}
