"""The report for people, as it looks."""

from __future__ import annotations

import textwrap

import pytest
from report_samples import JOB, finding, incident, origin, place, sample_report

from kube_gaplint.findings import Fix, Related, Report, Severity
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.report import render
from kube_gaplint.report.layout import width_of
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.text.source import Place, Source, Span


def full(*findings: object, **options: object) -> str:
    report = Report(findings=list(findings))  # type: ignore[arg-type]
    settings: dict[str, object] = {"width": 80, "summary": False, "incident": incident} | options
    return render("full", report, RenderOptions(**settings))  # type: ignore[arg-type]


def text(block: str) -> str:
    return textwrap.dedent(block).lstrip("\n")


def test_one_finding_in_80_columns() -> None:
    shown = full(finding(origin(Source("train/llama.yaml", JOB), '"0"')))
    assert shown == text(
        """
        ── train/llama.yaml ───────────────────────────────────────────────── 1 error ──

        error NCCL001 async-error-handling
          TORCH_NCCL_ASYNC_ERROR_HANDLING is 0: when one rank dies, the other 127 wait
          in a collective for ever
            ╭─ train/llama.yaml:19:26
            │  PyTorchJob research/llama-70b, container pytorch
         18 │                 - name: TORCH_NCCL_ASYNC_ERROR_HANDLING
         19 │                   value: "0"
            │                          ━━━
            Cost      128 GPUs stand idle until somebody looks: 1,024 GPU-hours for each
                      night of 8 hours
            Incident  BLOOM: a GPU dies, the job stays in limbo and nothing restarts it
                      (BigScience, 2022); 1 more: gaplint explain NCCL001
                      https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
            Fix       Set TORCH_NCCL_ASYNC_ERROR_HANDLING to 1 (--fix does it)
        """
    )


def test_plain_characters() -> None:
    where = origin(Source("a.yaml", "spec:\n  backoffLimit: 0\n"), "backoffLimit: 0")
    short = finding(where, message="0 retries × 16 nodes", consequence="", evidence=(), fix=None)
    assert full(short, ascii_only=True) == text(
        """
        -- a.yaml ----------------------------------------------------------- 1 error --

        error NCCL001 async-error-handling
          0 retries x 16 nodes
            --> a.yaml:2:3  PyTorchJob research/llama-70b, container pytorch
          1 | spec:
          2 |   backoffLimit: 0
            |   ^^^^^^^^^^^^^^^
        """
    )


def test_closing_lines() -> None:
    shown = render("full", sample_report(), RenderOptions(width=80))
    assert shown.endswith(
        text(
            """
            Could not be read
              train/secret.yaml: permission denied

            1 error, 1 warning in 1 workload, 2 files.
            1 can be fixed with --fix.
            12 notes hidden, show with --min-severity info.
            1 finding suppressed with a reason.
            Passed over: not relevant (1,204); binary (3).
            1 file could not be read (see above).
            """
        )
    )


def test_hints_are_few() -> None:
    report = Report()
    report.summary.hints = [
        f"charts/{name} is a Helm chart: helm template charts/{name} | gaplint -" for name in "abcde"
    ]
    lines = render("full", report, RenderOptions(width=80)).splitlines()
    assert [line[:14] for line in lines if line.startswith("Hint: ")] == ["Hint: charts/" + name for name in "abc"]
    assert lines[-1] == "2 hints more of that kind: --format json lists them all."


def test_suppressed_findings_are_not_shown() -> None:
    shown = render("full", sample_report(), RenderOptions(width=80))
    assert "name: TORCH_NCCL_ASYNC_ERROR_HANDLING\n    │                 ━" not in shown
    assert shown.count("error NCCL001") == 1


def test_statistics() -> None:
    shown = render("full", sample_report(), RenderOptions(width=80, statistics=True))
    assert (
        text(
            """
        Findings by rule
        1  CKPT003  checkpoint-interval-long  warning
        1  NCCL001  async-error-handling      error

        Workloads by kind
        1  PyTorchJob
        """
        )
        in shown
    )


def test_what_is_said_again_and_again_is_counted_at_the_end() -> None:
    report = sample_report()
    one = next(found for found in report.findings if found.suppressed is None and found.code == "NCCL001")
    assert "Most often" not in render("full", report, RenderOptions())
    report.findings += [one] * 11
    shown = render("full", report, RenderOptions(width=200)).replace("\n", " ")
    assert "Most often: NCCL001 12 times in 1 file; --statistics counts all rules, `gaplint explain NCCL001`" in shown
    assert "Most often" not in render("full", report, RenderOptions(summary=False))


def test_clean_and_empty() -> None:
    clean = Report()
    clean.summary.files, clean.summary.workloads, clean.summary.judged = 3, 2, 2
    assert render("full", clean, RenderOptions()) == "No gaps found in 2 workloads, 3 files.\n"
    assert render("full", Report(), RenderOptions()).startswith("Nothing to judge: ")


def snippet_of(source: str, span: str, **options: object) -> list[str]:
    where = origin(Source("x.yaml", source), span)
    bare = finding(where, message="m", consequence="", evidence=(), fix=None, subject=Subject("file"))
    return full(bare, **options).splitlines()[5:]


def test_second_place_in_the_same_file_is_in_the_same_frame() -> None:
    source = Source("x.yaml", JOB)
    where = origin(source, "restartPolicy: Never")
    bare = finding(
        where,
        message="m",
        consequence="",
        evidence=(),
        fix=None,
        subject=Subject("file"),
        related=(Related(origin(source, "replicas: 16"), "one failure stops all of them"),),
    )
    assert full(bare).splitlines()[4:] == [
        "    ╭─ x.yaml:10:7",
        "  8 │     Worker:",
        "  9 │       replicas: 16",
        "    │       ──────────── one failure stops all of them",
        " 10 │       restartPolicy: Never",
        "    │       ━━━━━━━━━━━━━━━━━━━━",
    ]


def test_many_places_are_counted() -> None:
    source = Source("x.yaml", "".join(f"key{i:02}: 1\n" for i in range(30)))
    places = tuple(Related(origin(source, f"key{i:02}: 1"), "the same") for i in range(1, 20))
    shown = full(finding(origin(source, "key00: 1"), related=places))
    assert shown.count("─ the same") == 4
    assert "and 15 more places" in shown


def test_span_of_a_few_lines_is_shown_whole() -> None:
    assert snippet_of("a:\n  b:\n    c: 1\n    d: 2\n  e: 3\n", "b:\n    c: 1\n    d: 2") == [
        "  1 │ a:",
        "  2 ┃   b:",
        "  3 ┃     c: 1",
        "  4 ┃     d: 2",
    ]


def test_long_span_is_shortened() -> None:
    lines = "".join(f"  key{i}: {i}\n" for i in range(20))
    assert snippet_of(f"a:\n{lines}", lines.strip()) == [
        "  1 │ a:",
        "  2 │   key0: 0",
        "    │   ━━━━━━━ and 19 more lines",
    ]


def test_label_of_a_long_span_stands_below() -> None:
    source = Source("x.yaml", "".join(f"key{i}: {i}\n" for i in range(9)))
    where = Origin(Place(source, Span(0, 60)), via="default", note="the default is 10 min")
    assert full(finding(where)).splitlines()[6:9] == [
        "  1 │ key0: 0",
        "    │ ━━━━━━━ and 7 more lines",
        "    │ the default is 10 min",
    ]


def test_enclosing_line_is_found_beyond_deeper_lines() -> None:
    assert snippet_of("- name: a\n  env:\n    - x\n    - y\n  image: b\n", "image: b") == [
        "  1 │ - name: a",
        "    ┆",
        "  5 │   image: b",
        "    │   ━━━━━━━━",
    ]


def test_tabs_and_wide_characters_keep_the_underline_in_place() -> None:
    assert snippet_of("\techo 訓練 x\n", "x") == ["  1 │     echo 訓練 x", "    │               ━"]


def test_control_characters_keep_the_underline_in_place() -> None:
    assert snippet_of('a: "\x1b[31m" # b\n', "b") == ['  1 │ a: "\\x1b[31m" # b', "    │                 ━"]


@pytest.mark.parametrize("width", [60, 80, 120])
def test_long_line_is_cut_around_the_span(width: int) -> None:
    source = f"args: [{'--a=1, ' * 300}--save=9, {'--b=2, ' * 300}]\n"
    line, under = snippet_of(source, "--save=9", width=width)
    assert width_of(line) <= width
    assert line.count("…") == 2
    at = under.index("━")
    assert line[at : at + 8] == "--save=9"
    assert under.count("━") == 8


def test_long_lines_give_up_their_common_indentation() -> None:
    deep = " " * 40
    source = f"{deep}- name: a\n{deep}  command: [python, train.py, --save-interval, '1000']\n"
    assert snippet_of(source, "'1000'", width=70) == [
        "  1 │ - name: a",
        "  2 │   command: [python, train.py, --save-interval, '1000']",
        "    │                                                ━━━━━━",
    ]


def test_a_line_of_megabytes_is_no_trouble() -> None:
    source = f"a: {'x' * 3_000_000} needle {'y' * 3_000_000}\n"
    line, under = snippet_of(source, "needle")
    assert "needle" in line
    assert line[under.index("━") :].startswith("needle")


def test_label_of_a_default() -> None:
    source = Source("x.yaml", "spec: {}\n")
    where = Origin(place(source, "spec"), via="default", note="the controller sets 6")
    assert "━━━━ the controller sets 6" in full(finding(where))


def test_places_at_the_edges() -> None:
    for content, span in (("", Span(0, 0)), ("a", Span(1, 1)), ("a\n", Span(2, 2)), ("a\r\nb", Span(0, 4))):
        shown = full(finding(Origin(Place(Source("x", content), span))))
        assert "x:" in shown


def test_colours_only_where_asked_for() -> None:
    where = origin(Source("x.yaml", "a: 1\n"), "1")
    assert "\x1b" not in full(finding(where))
    coloured = full(finding(where), color=True)
    assert "\x1b[1;31merror NCCL001 async-error-handling\x1b[0m" in coloured


def test_no_line_is_wider_than_the_terminal_save_addresses() -> None:
    for width in (60, 80, 120, 200):
        shown = render("full", sample_report(), RenderOptions(width=width, incident=incident, statistics=True))
        assert [line for line in shown.splitlines() if width_of(line) > width and "://" not in line] == []


def test_fix_without_changes_promises_nothing() -> None:
    where = origin(Source("x.yaml", "a: 1\n"), "1")
    shown = full(finding(where, fix=Fix("Set a lower interval."), severity=Severity.INFO))
    assert "    Fix       Set a lower interval\n" in shown


def test_an_incident_is_told_once() -> None:
    source = Source("x.yaml", JOB)
    shown = full(finding(origin(source, '"0"')), finding(origin(source, "replicas: 16")))
    assert shown.count("BLOOM: a GPU dies") == 1
    assert "    Incident  as above: gaplint explain IL-0125\n" in shown


def test_source_can_be_left_out() -> None:
    shown = full(finding(origin(Source("x.yaml", JOB), '"0"')), show_source=False)
    assert "│" not in shown
    assert "  PyTorchJob research/llama-70b, container pytorch\n" in shown
