"""The checkpoint curve as SVG: well-formed, of one piece, and true to the numbers."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.model.plan import Inputs, Known, Plan, completed, plan, with_given
from kube_gaplint.model.plan_inputs import PER_NODE, RATE
from kube_gaplint.report.plan.svg import HEIGHT, STYLE, WIDTH, checkpoint_curve

SVG = "{http://www.w3.org/2000/svg}"


def planned(title: str = "", **numbers: float) -> Plan:
    given = {name: Known(value, "given") for name, value in {"rate": RATE.value, **numbers}.items()}
    return plan(completed(with_given(Inputs(), given), PER_NODE), title)


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ET.fromstring(svg).iter(f"{SVG}text")]


def test_the_optimum_and_today_stand_in_the_picture() -> None:
    svg = checkpoint_curve(planned(nodes=48, interval_steps=100, step_seconds=105, save_seconds=40, rate=3))
    assert "best: 115 min (66 steps), 1.2 % lost" in texts(svg)
    assert "now: 2.9 h (100 steps), 1.3 % lost" in texts(svg)
    circles = [element.get("class") for element in ET.fromstring(svg).iter(f"{SVG}circle")]
    assert circles == ["gc-dot gc-good", "gc-dot gc-best"]


def test_an_interval_outside_the_flat_range_is_marked() -> None:
    svg = checkpoint_curve(planned(nodes=48, interval=86_400, save_seconds=40))
    assert 'class="gc-dot gc-bad"' in svg
    assert 'class="gc-dot gc-good"' not in svg


def test_without_an_interval_there_is_no_point_for_it() -> None:
    svg = checkpoint_curve(planned(nodes=48, save_seconds=40))
    assert not [text for text in texts(svg) if text.startswith("now")]


@pytest.mark.parametrize(
    "numbers",
    [
        {"nodes": 48},
        {"save_seconds": 40},
        {"nodes": 48, "save_seconds": 0},
        {"nodes": 48, "save_seconds": 40, "rate": 0},
    ],
)
def test_without_an_optimum_there_is_no_curve(numbers: dict[str, float]) -> None:
    assert checkpoint_curve(planned(**numbers)) == ""


def test_it_loads_nothing_and_runs_nothing() -> None:
    svg = checkpoint_curve(planned(nodes=48, save_seconds=40))
    assert not re.search(r"url\(|@import|<script|<image|href|<foreignObject|\bon\w+=", svg)
    assert set(re.findall(r"https?://[^\"]+", svg)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\bid=", svg)  # several curves may stand in one page


@pytest.mark.parametrize("title", ["<script>alert(1)</script>", "a\x1b[31mb\u202e", '"&\ud800', "]]>", "x" * 5000])
def test_titles_from_outside_stay_text(title: str) -> None:
    svg = checkpoint_curve(planned(title, nodes=48, save_seconds=40))
    root = ET.fromstring(svg.encode())
    assert {element.tag.removeprefix(SVG) for element in root} <= {
        "title", "style", "text", "line", "rect", "path", "circle",
    }  # fmt: skip


def test_a_file_has_a_background_and_a_page_gives_its_own() -> None:
    numbers = planned(nodes=48, save_seconds=40)
    file, part = checkpoint_curve(numbers, inline=False), checkpoint_curve(numbers)
    assert '<rect class="gc-paper"' in file
    assert STYLE in file
    assert '<rect class="gc-paper"' not in part
    assert not re.search(r"<style|style=", part)  # a strict content policy lets it through
    assert set(re.findall(r"gc-[a-z]+", part)) <= set(re.findall(r"\.(gc-[a-z]+)", STYLE))


def test_every_class_has_its_colours_in_both_modes() -> None:
    light, dark = STYLE.split("@media")[0], STYLE.split("@media")[1].split("}}")[0]
    used = set(re.findall(r"var\((--gc-\w+)\)", STYLE))
    assert used == set(re.findall(r"(--gc-\w+):", light)) == set(re.findall(r"(--gc-\w+):", dark))


@given(
    nodes=st.integers(1, 10**9),
    save=st.floats(1e-6, 1e9),
    interval=st.floats(1e-6, 1e12),
    step=st.floats(1e-6, 1e6),
    rate=st.floats(1e-9, 1e9),
)
def test_every_picture_is_whole(nodes: int, save: float, interval: float, step: float, rate: float) -> None:
    svg = checkpoint_curve(planned(nodes=nodes, save_seconds=save, interval=interval, step_seconds=step, rate=rate))
    if not svg:
        return
    for element in ET.fromstring(svg).iter():
        for name, limit in (("x", WIDTH), ("cx", WIDTH), ("y", HEIGHT), ("cy", HEIGHT), ("x1", WIDTH), ("y1", HEIGHT)):
            value = element.get(name)
            assert value is None or 0 <= float(value) <= limit, (element.tag, name, value)
    assert "nan" not in svg.replace("nano", "")
    assert not re.search(r"\binf\b", svg)
