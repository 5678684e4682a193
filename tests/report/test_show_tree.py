"""`gaplint show` for people: whole trees, and what every line of them promises."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from show_samples import SAMPLES, sample, understood

from kube_gaplint.report.layout import Palette, width_of
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.report.show import text
from kube_gaplint.report.show.shape import Location, Named, Reference, Value
from kube_gaplint.report.show.tree import Branch, Pen, Row
from kube_gaplint.report.show.words import Places, by_reason, seconds
from kube_gaplint.report.show.words import text as words

SNAPSHOTS = Path(__file__).parent / "show_snapshots"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_whole_tree(name: str, tmp_path: Path) -> None:
    """Compare with show_snapshots/NAME.txt; GAPLINT_SNAPSHOTS=write renews the file, to be looked at in the diff."""
    found = text.render(sample(tmp_path, name), RenderOptions(width=80))
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("GAPLINT_SNAPSHOTS") == "write":
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_the_terminal(name: str, width: int, tmp_path: Path) -> None:
    lines = text.render(sample(tmp_path, name), RenderOptions(width=width)).splitlines()
    assert [line for line in lines if width_of(line) > width and not line.startswith("Hint: ")] == []


@pytest.mark.parametrize("name", SAMPLES)
def test_ascii_and_colours_say_the_same(name: str, tmp_path: Path) -> None:
    shown = sample(tmp_path, name)
    plain = text.render(shown, RenderOptions(width=100))
    coloured = text.render(shown, RenderOptions(width=100, color=True))
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert "\x1b[" in coloured
    assert text.render(shown, RenderOptions(width=100, ascii_only=True)).isascii()


def test_values_tell_where_they_come_from(tmp_path: Path) -> None:
    tree = text.render(sample(tmp_path, "pytorchjob"), RenderOptions(width=120))
    assert "NCCL_IB_TIMEOUT     22 (lm.yaml:5, through envFrom ConfigMap nccl-env at lm.yaml:39)" in tree
    assert "NCCL_IB_HCA         mlx5 (lm.yaml:6, through envFrom ConfigMap nccl-env)" in tree
    assert re.search(r"NCCL_DEBUG +WARN \(lm.yaml:36\)", tree), "an export of the script"
    assert re.search(r"PET_NNODES +4 \(injected by the training operator", tree)
    assert "grace period       30 s (default: Kubernetes)" in tree
    assert "every              500 steps (lm.yaml:38)" in tree
    assert "to                 /ckpt/lm (lm.yaml:38) → mount /ckpt → volume ckpt; kept" in tree
    assert "WANDB_API_KEY       unknown: it comes from a Secret (lm.yaml:43)" in tree


def test_credentials_are_shown_to_nobody(tmp_path: Path) -> None:
    tree = text.render(sample(tmp_path, "pytorchjob"), RenderOptions(width=120))
    assert "hf_abc" not in tree
    assert "HF_TOKEN            hidden, it looks like a credential (lm.yaml:42)" in tree


def test_like_roles_are_drawn_once(tmp_path: Path) -> None:
    tree = text.render(sample(tmp_path, "pytorchjob"), RenderOptions(width=80))
    assert tree.count("container pytorch") == 2
    assert tree.count("launched by") == 1
    assert "role Worker × 3 (lm.yaml:57): its pods are as those of role Master" in tree
    assert "container pytorch: the same as in role Master, in its own lines, but" in tree
    assert "RANK, PET_NODE_RANK: unknown: it is the pod's index" in tree.rpartition("role Worker")[2]


def test_what_is_not_seen_is_said(tmp_path: Path) -> None:
    tree = text.render(sample(tmp_path, "jobset"), RenderOptions(width=120))
    assert "timeout, checkpoints  unknown: the configuration /etc/train/run.yaml is not visible" in tree
    assert "not seen" in tree
    assert "run-config" in tree.rpartition("not seen")[2]


def test_a_syntax_error_and_nothing_to_show(tmp_path: Path) -> None:
    broken = text.render(understood(tmp_path, "x.yaml", "kind: Job\n\tspec: 1\n"), RenderOptions(width=80))
    assert "could not be used" in broken
    assert "x.yaml:2" in broken
    empty = text.render(understood(tmp_path, "y.yaml", "a: 1\n"), RenderOptions(width=80))
    assert empty.startswith("Nothing to show: no training workload, batch script or node pool in 1 file.")
    assert text.render(understood(tmp_path, "y.yaml", "a: 1\n"), RenderOptions(width=80, summary=False)) == ""


# Words


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (True, "yes"), (False, "no"), (None, "null"), (12345, "12,345"), ("", '""'), (" x", '" x"'), ([], "none"),
        (["a", "b"], "a, b"), ({"amount": 1, "unit": "epochs"}, "1 epoch"),
        ({"amount": 500, "unit": "steps"}, "500 steps"), ({"amount": 0.25, "unit": "fraction"}, "25 % of the run"),
    ],
)  # fmt: skip
def test_values_in_words(value: object, said: str) -> None:
    assert words(value) == said  # type: ignore[arg-type]


def test_times_are_exact_and_readable() -> None:
    assert seconds(30) == "30 s"
    assert seconds(359400) == "359,400 s (4.2 days)"
    assert seconds("soon") == "soon"


def test_long_values_are_cut_and_told() -> None:
    assert words("x" * 400) == "x" * 300 + "… (400 characters)"


HERE, THERE = Location("a/job.yaml", 3, 1, 3, 5), Location("job.yaml", 9, 1, 9, 5)


def plain_text(runs: list[tuple[str, str]]) -> str:
    return "".join(run for run, _ in runs)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Value("set", 8, via="written", location=HERE), "8 (job.yaml:3)"),
        (Value("set", 8, via="written", location=THERE), "8 (./job.yaml:9)"),
        (Value("set", 8, via="default", note="Kubernetes' default", location=HERE), "8 (default: Kubernetes)"),
        (Value("set", 8, via="default", note="torchrun's default for --x"), "8 (default: torchrun, --x)"),
        (Value("set", 8, via="default", note="off by default"), "8 (default: off)"),
        (Value("set", 8, via="default"), "8 (default)"),
        (Value("set", 8, via="injected", note="KubeRay", location=HERE), "8 (injected by KubeRay, job.yaml:3)"),
        (Value("set", 8, via="derived", note="the limit"), "8 (derived: the limit)"),
        (Value("set", hidden=True, location=HERE), "hidden, it looks like a credential (job.yaml:3)"),
        (Value("absent", location=HERE), "none"),
        (Value("unknown", reason="it is late", prefix="/ckpt/"), "unknown: it is late, it begins with /ckpt/"),
        (
            Value("set", "x", via="written", location=THERE, through=(Reference("envFrom", HERE),)),
            "x (./job.yaml:9, through envFrom at job.yaml:3)",
        ),
    ],
)
def test_origins_in_words(value: Value, said: str) -> None:
    assert plain_text(Places("a/job.yaml").value(value)) == said  # type: ignore[arg-type]


def test_the_place_of_the_whole_object_says_nothing() -> None:
    places = Places("a/job.yaml")
    places.add(HERE, None)
    assert plain_text(places.value(Value("set", 8, via="derived", location=HERE))) == "8 (derived)"  # type: ignore[arg-type]


def test_unknown_values_are_gathered_by_reason() -> None:
    late = Value("unknown", reason="late", location=HERE)
    values = [Named("a", late), Named("b", Value("set", 1)), Named("c", late), Named("d", Value("unknown", reason="x"))]
    known, unknown = by_reason(values)
    assert [one.name for one in known] == ["b"]
    assert [(value.reason, names) for value, names in unknown] == [("late", ["a", "c"]), ("x", ["d"])]


# Drawing


def test_a_tree_is_drawn_with_its_branches() -> None:
    pen = Pen(40, Palette())
    inner = Branch([("inner", "title")], [Row("key", [("value", "")])])
    tree = Branch([("root", "title")], [Row("a", [("1", "")], [Row("b", [("2", "")])])], [inner, inner])
    assert list(pen.draw(tree)) == [
        "root",
        "│  a  1",
        "│    b  2",
        "├─ inner",
        "│     key  value",
        "╰─ inner",
        "      key  value",
    ]


def test_wrapping_keeps_words_and_breaks_what_is_too_long() -> None:
    pen = Pen(40, Palette())
    path = "/very/long/path/that/does/not/fit/into/a/line/of/forty"
    lines = list(pen.draw(Branch([("x", "")], [Row("to", [(path, ""), (" (job.yaml:3)", "where"), (";", "")])])))
    assert all(len(line) <= 40 for line in lines)
    assert "".join(line.strip().removeprefix("to  ") for line in lines[1:]).replace(" ", "") == f"{path}(job.yaml:3);"
    assert lines[1].endswith("/"), "a path is broken after a slash"
    assert "(job.yaml:3);" in lines[-1], "punctuation stays with its word"


def test_a_label_too_wide_for_its_column_stands_alone() -> None:
    pen = Pen(40, Palette())
    rows = [Row("short", [("a", "")]), Row("a.very.long.label.of.many.parts", [("the text beside it", "")])]
    assert list(pen.draw(Branch([("x", "")], rows))) == [
        "x",
        "   short  a",
        "   a.very.long.label.of.many.parts",
        "       the text beside it",
    ]
