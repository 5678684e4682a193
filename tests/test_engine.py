"""How gaps become findings: merging, fingerprints, order."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from msgspec.structs import replace

from kube_gaplint.engine import Request, _fingerprinted, _merged, lint
from kube_gaplint.findings import Fix, Gap, SetVariable, Severity
from kube_gaplint.judging import Found, finding_of
from kube_gaplint.meta import META_RULES
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.source import Place, Source, Span

RULE = META_RULES["GAP003"]


def found(
    source: Source,
    start: int,
    *,
    detail: str = "d",
    container: str = "",
    owner: int = 0,
    name: str = "train",
    severity: Severity | None = None,
    fix: Fix | None = None,
) -> Found:
    place = Place(source, Span(start, start + 1))
    subject = Subject("Job", "batch/v1", "ns", name, container)
    finding = finding_of(RULE, Gap(Origin(place), "message", detail=detail, severity=severity, fix=fix), subject, place)
    return Found(finding, Place(source, Span(owner, owner + 1)), detail)


def test_like_roles_of_one_object_are_one_finding() -> None:
    source = Source("job.yaml", "x" * 100)
    merged = _merged([found(source, 10, container="master"), found(source, 20, container="worker")])
    assert len(merged) == 1
    assert [related.origin.place.span.start for related in merged[0].finding.related] == [20]


def test_one_fix_mends_all_like_places() -> None:
    source = Source("job.yaml", "x" * 100)

    def set_at(start: int, *, safe: bool = True) -> Fix:
        return Fix("set it", (SetVariable(Origin(Place(source, Span(start, start + 1))), "A", "1"),), safe=safe)

    both = [found(source, 10, fix=set_at(10)), found(source, 20, fix=set_at(20))]
    [merged] = _merged(both)
    assert merged.finding.fix == Fix("set it", (*set_at(10).changes, *set_at(20).changes), safe=True)
    [merged] = _merged([both[0], found(source, 20, fix=set_at(20, safe=False))])
    assert merged.finding.fix is not None
    assert not merged.finding.fix.safe
    [merged] = _merged([both[0], found(source, 20)])
    assert merged.finding.fix == set_at(10)


def test_different_details_and_objects_stay_apart() -> None:
    source = Source("job.yaml", "x" * 100)
    assert len(_merged([found(source, 10), found(source, 20, detail="other")])) == 2
    assert len(_merged([found(source, 10), found(source, 60, owner=50)])) == 2


def test_the_same_place_is_said_once_and_as_loud_as_its_loudest() -> None:
    source = Source("base.yaml", "x" * 100)
    merged = _merged([
        found(source, 10, owner=0, severity=Severity.INFO),
        found(source, 10, owner=50, severity=Severity.ERROR),
    ])  # fmt: skip
    assert [item.finding.severity for item in merged] == [Severity.ERROR]


def test_the_same_place_names_all_the_objects_that_share_it() -> None:
    source = Source("base.yaml", "x" * 100)
    merged = _merged([
        found(source, 10, name="a", container="init", severity=Severity.INFO),
        found(source, 10, name="b", severity=Severity.ERROR),
        found(source, 10, name="c"),
        found(source, 10, name="b"),
        found(source, 20, detail="other", name="d"),
    ])  # fmt: skip
    assert [(item.finding.subject.name, [one.name for one in item.finding.also]) for item in merged] == [
        ("b", ["a", "c"]), ("d", []),
    ]  # fmt: skip


def test_fingerprints_ignore_place_and_path_and_count_duplicates() -> None:
    here, there = Source("a.yaml", "x" * 100), Source("b/c.yaml", "x" * 100)
    [first] = _fingerprinted([found(here, 10)])
    [second] = _fingerprinted([found(there, 77)])
    assert first.fingerprint == second.fingerprint
    both = _fingerprinted([found(here, 10), found(there, 77)])
    assert [finding.fingerprint for finding in both] == [first.fingerprint, f"{first.fingerprint}-2"]
    other = _fingerprinted([replace(found(here, 10), detail="other")])
    assert other[0].fingerprint != first.fingerprint


def test_order_is_by_place() -> None:
    source = Source("a.yaml", "x" * 100)
    findings = _fingerprinted([found(source, 50, detail="b"), found(source, 5, detail="a")])
    assert [finding.place.span.start for finding in findings] == [5, 50]


def test_suppressions_silence_and_are_watched(tmp_path: Path) -> None:
    manifest = """\
apiVersion: batch/v1
kind: Job
metadata: {name: twice}
spec:
  backoffLimit: 3
  backoffLimit: 6  # gaplint: ignore[GAP001] the generator writes it twice
  template: {spec: {restartPolicy: Never, containers: []}}  # gaplint: ignore[NODE002] nothing to silence
"""
    path = tmp_path / "job.yaml"
    path.write_text(manifest, encoding="utf-8")
    report = lint(Request(paths=(str(path),)))
    live = [finding.code for finding in report.findings if finding.suppressed is None]
    assert live == ["GAP010"]
    [silenced] = [finding for finding in report.findings if finding.suppressed is not None]
    assert silenced.code == "GAP001"
    assert silenced.suppressed is not None
    assert silenced.suppressed.reason == "the generator writes it twice"
    assert report.summary.suppressed == 1


def test_expired_suppressions_count_from_the_day_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: twice}\nspec:\n  backoffLimit: 3\n"
        "  backoffLimit: 6  # gaplint: ignore[GAP001] until=2026-06-30 until the new generator\n",
        encoding="utf-8",
    )
    before = lint(Request(paths=(str(path),), today=date(2026, 6, 30)))
    assert [finding.code for finding in before.findings if finding.suppressed is None] == []
    after = lint(Request(paths=(str(path),), today=date(2026, 7, 1)))
    assert sorted(finding.code for finding in after.findings) == ["GAP001", "GAP013"]


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  template:\n    spec:\n"
        "      restartPolicy: Never\n      containers:\n      - name: t\n        image: x\n"
        "        command: [python, train.py]\n"
        "        envFrom: [{configMapRef: {name: elsewhere}}]\n        resources: {limits: {nvidia.com/gpu: 8}}\n",
        encoding="utf-8",
    )
    report = lint(Request(paths=(str(path),), select=("GAP003",), min_severity=Severity.INFO))
    assert [(f.subject.name, f.place.start.line) for f in report.findings] == [("train", 12)]
    assert "elsewhere" in report.findings[0].message


def test_what_cannot_be_read_is_told_with_its_cost_and_a_way_out(tmp_path: Path) -> None:
    twice = tmp_path / "twice.yaml"
    twice.write_text(
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  backoffLimit: 1\n  backoffLimit: 2\n"
    )
    broken = tmp_path / "broken.yaml"
    broken.write_text("apiVersion: batch/v1\nkind: Job\nmetadata: {name: train\n")
    said = {}
    for finding in lint(Request(paths=(str(tmp_path),), select=("GAP001",))).findings:
        assert finding.fix is not None
        said[Path(finding.place.source.path).name] = (finding.severity, finding.consequence, finding.fix.title)
    assert said == {
        "twice.yaml": (
            Severity.WARNING,
            "the other value is lost without a word; the document was judged with the last one",
            "keep one of the two",
        ),
        "broken.yaml": (
            Severity.ERROR,
            "what stands behind it in this file is not judged, and kubectl refuses the file",
            "mend the YAML; a template is rendered first, and piped into `gaplint -`",
        ),
    }


def test_a_comment_at_one_role_silences_that_role_alone(tmp_path: Path) -> None:
    role = """\
    {name}:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            image: ghcr.io/acme/train:latest{comment}
            command: [torchrun, train.py]
            resources: {{limits: {{nvidia.com/gpu: 8}}}}
"""
    path = tmp_path / "job.yaml"
    path.write_text(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: tune}\nspec:\n  pytorchReplicaSpecs:\n"
        + role.format(name="Master", comment="  # gaplint: ignore[IMG001] built anew for each run")
        + role.format(name="Worker", comment=""),
        encoding="utf-8",
    )
    report = lint(Request(paths=(str(path),), select=("IMG001", "GAP010")))
    assert [(f.place.start.line, f.suppressed is None) for f in report.findings] == [(12, False), (21, True)]


def test_what_is_wrong_with_a_file_means_the_same_on_another_line() -> None:
    def fingerprints(text: str) -> list[str]:
        report = lint(Request(paths=("-",), stdin=text.encode()))
        assert all("line" in finding.message for finding in report.findings)
        return [finding.fingerprint for finding in report.findings]

    twice = "kind: Job\nkind: Job\na:\n  b: 1\n c: 2\n"
    assert fingerprints(twice) == fingerprints("# a comment\n\n" + twice)
