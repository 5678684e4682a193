"""Suppressions silence what they stand at, and nothing else."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint import suppress
from kube_gaplint.findings import Finding, Severity
from kube_gaplint.model.setting import Link, Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.suppress import Outcome, Suppression
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, dig
from kube_gaplint.text.source import Place, Source, Span

KNOWN = {"NCCL001": "async-error-handling", "RETRY001": "no-retry", "CKPT003": "checkpoint-interval-long"}
TODAY = date(2026, 5, 1)


def finding(
    place: Place, code: str = "RETRY001", *, owner: Place | None = None, chain: tuple[Place, ...] = ()
) -> Finding:
    origin = Origin(place, chain=tuple(Link(link, "link") for link in chain))
    return Finding(code, KNOWN[code], Severity.WARNING, "", "", Subject("Job"), origin, (), (), None, "", owner=owner)


class File:
    def __init__(self, text: str, path: str = "f.yaml") -> None:
        self.source = Source(path, text)
        self.documents = compose(self.source).documents
        self.suppressions = suppress.read(self.source, self.documents)

    def shown(self, text: str, nth: int = 0) -> Place:
        at = -1
        for _ in range(nth + 1):
            at = self.source.text.index(text, at + 1)
        return Place(self.source, Span(at, at + len(text)))

    def object(self, document: int = 0) -> Place:
        root = self.documents[document].root
        assert root is not None
        return root.place

    def apply(self, *findings: Finding) -> Outcome:
        return suppress.apply(findings, self.suppressions, known=KNOWN, today=TODAY)

    def silences(self, place: Place, code: str = "RETRY001") -> bool:
        return self.apply(finding(place, code)).findings[0].suppressed is not None

    @property
    def codes(self) -> list[str]:
        """The codes of what is wrong where nothing is found."""
        return [code for code, _ in self.apply().gaps]


JOB = """\
apiVersion: batch/v1
kind: Job
spec:
  backoffLimit: 3 # gaplint: ignore[RETRY001] until=2026-12-31 restarted by hand
  # gaplint: ignore[NCCL001,checkpoint-interval-long] elastic
  template:
    containers:
    - name: main
      args: [--a, # gaplint: ignore[RETRY001] in the middle
        --b]
      # gaplint: ignore[RETRY001] above the key
      command:
        ["python",
         "train.py"]
"""


def test_a_comment_covers_its_line() -> None:
    file = File(JOB)
    found = file.apply(finding(file.shown("backoffLimit: 3"))).findings[0].suppressed
    assert found is not None
    assert (found.reason, found.until) == ("restarted by hand", "2026-12-31")
    assert found.place is not None
    assert found.place.text == "gaplint: ignore[RETRY001] until=2026-12-31 restarted by hand"
    assert file.silences(file.shown("3 #"))
    assert not file.silences(file.shown("backoffLimit: 3"), "NCCL001")
    assert not file.silences(file.shown("spec:"))
    assert not file.silences(file.shown("name: main"))
    assert not file.silences(file.object()), "the object only contains the line"


def test_a_comment_above_covers_the_line_below() -> None:
    file = File(JOB)
    assert file.silences(file.shown("template:"), "NCCL001")
    assert file.silences(file.shown("template:"), "CKPT003"), "by the rule's name"
    assert not file.silences(file.shown("template:"), "RETRY001")
    assert not file.silences(file.shown("containers:"), "NCCL001"), "a block of its own"
    assert not file.silences(file.shown("backoffLimit"), "NCCL001")


def test_a_value_over_several_lines_is_one() -> None:
    file = File(JOB)
    assert file.silences(file.shown("args: [--a, # gaplint: ignore[RETRY001] in the middle\n        --b]"))
    assert file.silences(file.shown("command:"))
    assert file.silences(file.shown('"train.py"'))
    assert not file.silences(file.shown("name: main"))


def test_a_comment_in_the_middle_covers_the_value_that_goes_on_over_it() -> None:
    file = File("a: [x,\n  y, # gaplint: ignore[RETRY001] r\n  z]\nb: 1\n")
    assert file.silences(file.shown("a: [x,\n  y, # gaplint: ignore[RETRY001] r\n  z]"))
    assert file.silences(file.shown("y,"))
    assert not file.silences(file.shown("x,"))
    assert not file.silences(file.shown("z]"))


@pytest.mark.parametrize(
    "head",
    [
        "# gaplint: ignore[RETRY001] r\napiVersion: v1\nkind: Job\n",
        "apiVersion: v1 # gaplint: ignore[RETRY001] r\nkind: Job\n",
        "# licence\n# gaplint: ignore[RETRY001] r\n# more\n---\napiVersion: v1\nkind: Job\n",
        "---\n# gaplint: ignore[RETRY001] r\napiVersion: v1\nkind: Job\n",
    ],
)
def test_at_its_first_line_it_covers_the_object(head: str) -> None:
    file = File(f"{head}spec:\n  a: 1\n---\napiVersion: v1\nkind: Other\nb: 2\n")
    other = Place(Source("scripts.yaml", "srun x"), Span(0, 4))
    assert file.silences(file.shown("a: 1"))
    assert not file.silences(file.shown("a: 1"), "NCCL001")
    assert not file.silences(file.shown("b: 2"))
    assert file.apply(finding(other, owner=file.object())).findings[0].suppressed
    assert file.apply(finding(other, chain=(file.shown("a: 1"),))).findings[0].suppressed
    assert not file.apply(finding(other, owner=file.object(1))).findings[0].suppressed
    assert not file.apply(finding(other)).findings[0].suppressed


def test_an_empty_line_parts_comment_and_value() -> None:
    assert File("# gaplint: ignore[RETRY001] r\n\na: 1\n").codes == ["GAP010"]
    file = File("# gaplint: ignore[RETRY001] r\n\na: 1\n")
    assert not file.silences(file.shown("a: 1"))


def test_a_file_is_covered_as_a_whole() -> None:
    file = File("a: 1\n---\nb: 2 # gaplint: ignore-file[RETRY001] vendored\n")
    assert file.silences(file.shown("a: 1"))
    assert not file.silences(file.shown("a: 1"), "NCCL001")
    assert not file.silences(Place(Source("other.yaml", "a"), Span(0, 1)))


ANNOTATED = """\
apiVersion: batch/v1
kind: Job
metadata:
  annotations:
    gaplint.dev/ignore: 'RETRY001: "a; b: c"; NCCL001 until: x; CKPT003: until=2027-01-01 later'
spec:
  a: 1
  template:
    metadata: {annotations: {gaplint.dev/ignore: "no-retry: only the pod"}}
    spec: {b: 2}
"""


def test_annotations() -> None:
    file = File(ANNOTATED)
    outcome = file.apply(finding(file.shown("a: 1")), finding(file.shown("a: 1"), "CKPT003"))
    reasons = [item.suppressed.reason for item in outcome.findings if item.suppressed is not None]
    assert reasons == ["a; b: c", "later"]
    assert [(code, gap.origin.place.text) for code, gap in outcome.gaps] == [
        ("GAP012", "NCCL001 until: x"),
        ("GAP010", "no-retry: only the pod"),
    ]


def test_an_annotation_of_the_template_covers_the_template() -> None:
    file = File(
        "kind: X\nspec:\n  template:\n    metadata: {annotations: {gaplint.dev/ignore: 'RETRY001: r'}}\n    a: 1\n"
    )
    assert file.silences(file.shown("a: 1"))
    assert not file.silences(file.shown("spec:"))


def test_composed_objects_inherit_annotations() -> None:
    file = File(ANNOTATED)
    composed = Place(Source("base.yaml", "kind: Job"), Span(0, 9))
    node = file.documents[0].root
    assert isinstance(node, Mapping)
    assert not file.apply(finding(composed, owner=composed)).findings[0].suppressed
    suppressions = suppress.with_owners(file.suppressions, [(node, composed)])
    outcome = suppress.apply([finding(composed, owner=composed)], suppressions, known=KNOWN)
    assert outcome.findings[0].suppressed


SCRIPT = """\
#!/bin/bash
# gaplint: ignore[RETRY001] the header
#SBATCH --nodes=4
#SBATCH --time=1

# gaplint: ignore[NCCL001] the next command
srun \\
  python train.py |
  tee log
echo done # gaplint: ignore[CKPT003] here
"""


@pytest.mark.parametrize("embedded", [False, True])
def test_scripts(embedded: bool) -> None:
    if embedded:
        lines = "".join(f"    {line}\n" if line else "\n" for line in SCRIPT.splitlines())
        file = File(f"data:\n  run.sh: |\n{lines}")
    else:
        file = File(SCRIPT, "run.sh")
    assert file.silences(file.shown("#SBATCH --nodes=4"))
    assert not file.silences(file.shown("#SBATCH --time=1"))
    assert file.silences(file.shown("srun"), "NCCL001")
    assert file.silences(file.shown("train.py"), "NCCL001")
    assert file.silences(file.shown("tee"), "NCCL001")
    assert not file.silences(file.shown("echo"), "NCCL001")
    assert file.silences(file.shown("echo"), "CKPT003")
    assert not file.silences(file.shown("tee"), "CKPT003")
    assert len(file.suppressions) == 3


def test_inside_folded_text_nothing_is_a_comment() -> None:
    assert File("a: >-\n  # gaplint: ignore[RETRY001] r\n  srun\n").suppressions == []
    assert File('a: "# gaplint: ignore[RETRY001] r"\n').suppressions == []


def test_above_the_key_it_covers_the_script() -> None:
    file = File("# gaplint: ignore[RETRY001] r\nrun: >-\n  srun\n  x\nb: srun\n")
    assert file.silences(file.shown("srun"))
    assert not file.silences(file.shown("srun", 1))
    file = File("run: | # gaplint: ignore[RETRY001] r\n  srun\n  x\nb: srun\n")
    assert file.silences(file.shown("srun"))


@pytest.mark.parametrize(
    ("comment", "code", "words"),
    [
        ("ignore[RETRY001]", "GAP011", "gives no reason"),
        ("ignore[RETRY001] until=2027-01-01 --", "GAP011", "gives no reason"),
        ("ignore[RETRY01] r", "GAP012", "no rule RETRY01; did you mean RETRY001?"),
        ("ignore[no-retyr] r", "GAP012", "did you mean no-retry?"),
        ("ignore RETRY001 r", "GAP012", "names no rule"),
        ("ignore[] r", "GAP012", "names no rule"),
        ("ignore[RETRY001] until=2026-04-30 r", "GAP013", "good until 2026-04-30"),
        ("ignore[RETRY001] until=soon r", "GAP013", "no date"),
        ("ignore[RETRY001] until=2026-02-30 r", "GAP013", "no date"),
    ],
)
def test_what_is_not_in_force_is_reported_and_silences_nothing(comment: str, code: str, words: str) -> None:
    file = File(f"a: 1 # gaplint: {comment}\n")
    outcome = file.apply(finding(file.shown("a: 1")))
    assert outcome.findings[0].suppressed is None
    assert [found for found, _ in outcome.gaps] == [code]
    gap = outcome.gaps[0][1]
    assert words in gap.message
    assert gap.origin.place.text == f"gaplint: {comment}"


def test_the_last_day_still_counts() -> None:
    file = File("a: 1 # gaplint: ignore[RETRY001] r until=2026-05-01\n")
    found = file.apply(finding(file.shown("a: 1"))).findings[0].suppressed
    assert found is not None
    assert found.reason == "r"


def test_unused_codes_are_reported_one_by_one() -> None:
    file = File("a: 1 # gaplint: ignore[RETRY001,NCCL001, nope] r\n")
    place = file.shown("a: 1")
    outcome = file.apply(finding(place))
    assert outcome.findings[0].suppressed
    assert [(code, gap.detail) for code, gap in outcome.gaps] == [("GAP010", "NCCL001:r"), ("GAP012", "nope:r")]
    selected = suppress.apply([finding(place)], file.suppressions, known=KNOWN, selected={"RETRY001"})
    assert [code for code, _ in selected.gaps] == ["GAP012"], "what was not run cannot be unused"


def test_other_words_are_no_suppressions() -> None:
    text = "a: 1 # gaplint: step-seconds=105\nb: 2 # see gaplint\nc: 3 # gaplint: ignored[RETRY001] x\n"
    assert File(text).suppressions == []


LINES = st.sampled_from(
    [
        "a: 1",
        "# gaplint: ignore[RETRY001] r",
        "b: [x,",
        "  y] # gaplint: ignore[NCCL001]",
        "c: |",
        "  # gaplint: ignore[",
        "  srun \\",
        "---",
        "apiVersion: v1",
        "kind: Job",
        "metadata: {annotations: {gaplint.dev/ignore: 'A: \"b;'}}",
        "",
    ]
)


@given(st.lists(LINES, max_size=12))
def test_any_file_is_read(lines: list[str]) -> None:
    file = File("\n".join(lines))
    for suppression in file.suppressions:
        assert isinstance(suppression, Suppression)
        assert suppression.place.text
    for document in file.documents:
        if dig(document.root) is not None:
            file.silences(file.object(document.index))
