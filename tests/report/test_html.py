"""The HTML report: valid, alone in its file, and deaf to what repositories say."""

from __future__ import annotations

import base64
import hashlib
import re
import subprocess
import sys
from pathlib import Path

from click.testing import CliRunner
from html_page import Page, said
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from report_samples import JOB, finding, incident, origin, sample_report
from show_samples import PYTORCH_JOB, understood
from test_hostile import WORDS, reports
from test_show_hostile import NAMES, WORD, job

from kube_gaplint.cli.check import command
from kube_gaplint.findings import Fix, Report, Severity
from kube_gaplint.report import render
from kube_gaplint.report.html.markup import Html, link, markup, prose, tag
from kube_gaplint.report.options import RenderOptions, Understood
from kube_gaplint.text.source import Place, Source, Span

OPTIONS = RenderOptions(incident=incident)
ELEMENTS = frozenset({
    "html", "head", "meta", "title", "style", "body", "header", "main", "section", "article", "footer", "nav",
    "h1", "h2", "h3", "h4", "p", "div", "span", "a", "bdi", "code", "mark", "strong", "small", "ul", "li", "dl", "dt",
    "dd", "table", "caption", "tbody", "tr", "th", "td", "details", "summary", "svg", "text", "line", "rect", "path",
    "circle",
})  # fmt: skip
ATTRIBUTES = frozenset({
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "href", "rel", "tabindex", "role", "aria-label",
    "scope", "open", "xmlns", "viewBox", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "d", "cx", "cy", "r",
    "text-anchor",
})  # fmt: skip


def page(report: Report, options: RenderOptions = OPTIONS) -> Page:
    """The page of a report, held to what holds for every report."""
    read = Page(render("html", report, options))
    assert read.names() <= ELEMENTS
    assert read.attribute_names() <= ATTRIBUTES
    ids = read.attributes("id")
    assert len(ids) == len(set(ids))
    for address in read.attributes("href"):
        assert address.startswith("https://") or (address[0] == "#" and address[1:] in ids), address
    return read


def test_outline() -> None:
    assert page(sample_report()).outline() == [
        "h1 1 error, 1 warning in 1 workload, 2 files",
        "h2 PyTorchJob research/llama-70b 1 error",
        "h3 error NCCL001 async-error-handling",
        "h2 PyTorchJob research/llama-70b 1 warning",
        "h3 warning CKPT003 checkpoint-interval-long",
        "h2 Incidents behind the findings",
        "h3 BLOOM: a GPU dies, the job stays in limbo and nothing restarts it",
        "h2 Let be",
        "h2 Besides",
    ]


def test_a_finding_says_all_that_the_full_report_says() -> None:
    first = next(item for item in page(sample_report()).all("article") if "finding" in item.attrib["class"])
    text = said(first)
    report = sample_report().findings[0]
    assert report.message in text
    assert report.consequence in text
    assert "Fix Set TORCH_NCCL_ASYNC_ERROR_HANDLING to 1 --fix makes it" in text
    assert "train/llama.yaml:19:26" in text
    assert [said(item) for item in first.iter("mark")] == ['"0"']


def test_a_place_in_another_file_has_a_frame_of_its_own() -> None:
    second = page(sample_report()).all("article")[1]
    frames = [item for item in second.iter("div") if item.attrib.get("class") == "frame"]
    assert [said(next(iter(frame.iter("p")))) for frame in frames] == [
        "train/scripts.yaml:11:7",
        "train/llama.yaml:16:31",
    ]
    marks = [(item.attrib["class"], said(item)) for item in second.iter("mark")]
    assert marks == [
        ("second", "--train-iters 500000"),
        ("first", "--save-interval 25000"),
        ("second", "/scripts/train.sh"),
    ]


def test_a_span_of_several_lines_is_marked_on_each() -> None:
    source = Source("a.yaml", "a:\n  b: 1\n  c: 2\n")
    where = finding(origin(source, "b: 1\n  c: 2"))
    assert [said(item) for item in page(Report(findings=[where])).all("mark")] == ["b: 1", "c: 2"]


def test_what_is_let_be_is_told_with_its_reason() -> None:
    section = next(item for item in page(sample_report()).all("section") if said(item).startswith("Let be"))
    assert "restarted by hand" in said(section)
    assert "until 2027-01-31" in said(section)


def test_incidents_lead_back_to_their_findings() -> None:
    read = page(sample_report())
    told = next(item for item in read.all("article") if item.attrib["id"] == "incident-IL-0125")
    assert next(item.attrib["href"] for item in told.iter("a")) == "#finding-1"
    assert "Lesson Let a dead rank end the job." in said(told)


def test_a_clean_run() -> None:
    read = page(Report())
    assert read.outline() == ["h1 Nothing to judge: no training workload, batch script or node pool in 0 files"]


def test_workloads_are_drawn(tmp_path: Path) -> None:
    shown = understood(tmp_path, "job.yaml", PYTORCH_JOB)
    read = page(Report(), RenderOptions(understood=lambda: Understood(shown, {})))
    assert "h2 1 workload without a finding that counts" in read.outline()
    table = read.all("table")[0]
    rows = [[said(cell) for cell in row if cell.tag in ("th", "td")] for row in table.iter("tr")]
    assert rows[0] == ["Layer", "starts again", "on failure", "on eviction", "on node loss", "how often"]
    layers = shown.workloads[0].restarts
    assert [row[0] for row in rows[1:]] == [layer.owner for layer in layers]
    assert [row[2] for row in rows[1:]] == ["yes" if "failure" in layer.on else "no" for layer in layers]
    assert "hf_abcdef" not in read.source


def test_what_is_no_training_is_listed_and_not_drawn(tmp_path: Path) -> None:
    serving = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {containers: "
    shown = understood(tmp_path, "web.yaml", f"{serving}[{{name: c, image: nginx}}]}}}}}}\n")
    read = page(Report(), RenderOptions(understood=lambda: Understood(shown, {})))
    assert "1 workload that is no training Deployment web" in read.text
    assert read.all("table") == []


def test_the_index_leads_to_objects_and_rules() -> None:
    report = sample_report()
    source = report.findings[0].place.source
    report.findings += [finding(origin(source, "replicas: 16"), fingerprint=f"{number:016x}") for number in range(13)]
    (nav,) = page(report).all("nav")
    objects, rules = nav.iter("details")
    assert said(objects).startswith("3 objects with findings")
    assert [said(item) for item in rules.iter("li")] == [
        "NCCL001 async-error-handling 14 errors",
        "CKPT003 checkpoint-interval-long 1 warning",
    ]
    assert [item.attrib["href"] for item in rules.iter("a")] == ["#finding-1", "#finding-2"]


def test_findings_stand_with_their_workload(tmp_path: Path) -> None:
    job_file, target = tmp_path / "job.yaml", tmp_path / "report.html"
    job_file.write_text(PYTORCH_JOB, encoding="utf-8")
    outcome = CliRunner().invoke(command, [str(job_file), "--isolated", "--output", f"html={target}"])
    assert outcome.exit_code in (0, 1)
    read = Page(target.read_text(encoding="utf-8"))
    group = next(item for item in read.all("section") if item.attrib.get("id") == "object-1")
    text = said(group)
    assert text.startswith("PyTorchJob research/lm-pretrain")
    assert "Restart budget, from the outermost layer inwards" in text
    assert "saves every 500 steps" in text
    printed = CliRunner().invoke(command, [str(job_file), "--isolated", "--format", "html"]).stdout
    assert printed.replace("\r\n", "\n") == target.read_text(encoding="utf-8")


def with_configuration(folder: Path, profile: str) -> Page:
    """The page of the sample job under a profile."""
    job_file, configuration, target = folder / "job.yaml", folder / ".gaplint.yaml", folder / "report.html"
    job_file.write_text(PYTORCH_JOB, encoding="utf-8")
    configuration.write_text(f"profile: {profile}\n", encoding="utf-8")
    arguments = [str(job_file), "--config", str(configuration), "--min-severity", "info"]
    CliRunner().invoke(command, [*arguments, "--output", f"html={target}"])
    return Page(target.read_text(encoding="utf-8"))


def test_the_curve_holds_the_point_of_the_manifest(tmp_path: Path) -> None:
    read = with_configuration(tmp_path, "{save_seconds: 60, run_days: 30}")
    (svg,) = read.all("svg")
    assert "now: 100 min (500 steps)" in said(svg)  # the annotation says 12 s a step
    assert len([item for item in svg.iter() if str(item.tag).endswith("circle")]) == 2
    figures = [said(item) for item in read.all("table") if item.attrib["class"] == "grid figures"]
    assert figures[0].startswith("What goes in nodes 4 job.yaml:8 GPUs 32")
    assert re.search(r"a save stops training for 60 s \S*\.gaplint\.yaml:1", figures[0])
    assert read.attribute_names() <= ATTRIBUTES


def test_without_a_time_of_a_save_the_page_says_what_is_missing(tmp_path: Path) -> None:
    read = with_configuration(tmp_path, "{}")
    assert read.all("svg") == []
    assert "Best time between saves: unknown: give --save-seconds" in read.text


def test_code_in_backticks() -> None:
    assert prose("a `b<` c ` d") == "a <code>b&lt;</code> c ` d"
    assert prose("`") == "`"


def test_the_policy_allows_the_own_style_and_nothing_else() -> None:
    read = page(sample_report())
    (style,) = read.all("style")
    policies = [item.attrib["content"] for item in read.all("meta") if item.attrib.get("http-equiv")]
    digest = base64.b64encode(hashlib.sha256((style.text or "").encode()).digest()).decode()
    assert policies == [f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"]
    assert not re.search(r"url\(|@import|expression|</", style.text or "")
    assert read.attributes("style") == []


NASTY = [
    "</script><script>alert(1)</script>",
    "</style><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' autofocus onfocus='alert(1)",
    "<!--",
    "]]>",
    "&lt;b&gt; &amp; &#x3c;",
    "\x1b[31mred\x1b]8;;http://x\x07",
    "\u202egnp.exe\u202c \u200f\u2066",
    "\udcff\ud800",
    "javascript:alert(1)",
    "\x00\x0c\x85",
]


def test_nothing_from_outside_becomes_markup() -> None:
    for text in NASTY:
        source = Source(text, f"{text}: {JOB}")
        where = origin(source, "PyTorchJob")
        one = finding(where, message=text, consequence=text, fix=Fix(text), name=text, evidence=())
        read = page(Report(findings=[one]))
        article = read.all("article")[0]
        assert said(article).count(said(Page(f"<!DOCTYPE html><title></title><p>{markup(text)}").all("p")[0])) >= 4


@given(report=reports())
@settings(max_examples=40, deadline=None)
def test_any_report(report: Report) -> None:
    page(report)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(words=st.dictionaries(st.sampled_from(NAMES), WORD))
def test_any_workload(tmp_path: Path, words: dict[str, str]) -> None:
    shown = understood(tmp_path, "job.yaml", job(words))
    read = page(Report(), RenderOptions(understood=lambda: Understood(shown, {})))
    assert "hf_aaa" not in read.source


@given(words=WORDS)
def test_markup_shows_what_it_is_given(words: list[str]) -> None:
    text = "".join(words)
    (read,) = Page(f"<!DOCTYPE html><title>x</title>{tag('p', text, title=text)}").all("p")
    assert list(read) == []
    assert read.attrib["title"] == (read.text or "")


def test_finished_markup_stays_and_only_web_addresses_become_links() -> None:
    assert tag("p", Html("<b>x</b>"), None, ["<", "y"]) == "<p><b>x</b>&lt;y</p>\n"
    assert link("javascript:alert(1)", "x") == "x"
    assert 'href="https://a.example/?a=1&amp;b=2"' in link("https://a.example/?a=1&b=2", "x")


def test_a_line_of_megabytes_is_cut() -> None:
    source = Source("a.yaml", f"a: {'x' * 2_000_000}\n")
    one = finding(origin(source, "a"), fix=None)
    assert len(render("html", Report(findings=[one]), OPTIONS)) < 60_000


def test_a_place_at_the_end_of_a_file() -> None:
    source = Source("a.yaml", "a: 1\n")
    for span in (Span(5, 5), Span(4, 5), Span(0, 0)):
        page(Report(findings=[finding(origin(source, "a"), origin=origin(source, "a"))]))
        one = finding(origin(source, "a"))
        where = one.origin.__class__(Place(source, span))
        page(Report(findings=[finding(where, severity=Severity.INFO)]))


def test_it_is_imported_only_when_it_is_used() -> None:
    code = "import sys, kube_gaplint.cli.check; print([name for name in sys.modules if 'report.html' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
