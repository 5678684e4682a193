"""The site and the HTML report in a real browser: search, filter, graph, and no word to anybody else."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from browser import MISSING, Browser, opened, served
from site_building import ROOT, Site

from kube_gaplint import incidents

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(MISSING), reason=MISSING)]


@pytest.fixture(scope="module")
def base(site: Site) -> Iterator[str]:
    with served(site.root) as address:
        yield address


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with opened(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(running: Browser, base: str) -> Iterator[Browser]:
    """The browser; after the test its console is empty and all that it asked for came from here."""
    running.complaints()
    running.asked()
    running.emulate()
    yield running
    assert running.complaints() == []
    own = (base, "data:", "blob:", "file:", "chrome:")  # chrome: is what the browser's own empty tab is made of
    elsewhere = [url for url in running.asked() if not url.startswith(own)]
    assert elsewhere == []


def path_of(browser: Browser) -> str:
    return urlsplit(browser.driver.current_url).path


def search(browser: Browser, base: str, words: str) -> list[str]:
    """The pages that the site's search finds."""
    browser.open(base)
    field = browser.one("input[data-md-component=search-query]")
    field.click()
    field.send_keys(words)
    browser.wait(lambda: browser.all(".md-search-result__link"))
    return [urlsplit(link.get_attribute("href")).path for link in browser.all(".md-search-result__link")]


def test_search_finds_a_rule_by_its_code(browser: Browser, base: str) -> None:
    assert "/rules/NCCL001/" in search(browser, base, "NCCL001")[:3]


def test_search_finds_a_rule_by_what_it_is_about(browser: Browser, base: str) -> None:
    assert "/rules/CKPT003/" in search(browser, base, "checkpoint interval long")


def test_search_finds_an_incident(browser: Browser, base: str) -> None:
    assert "/incidents/IL-0125/" in search(browser, base, "BLOOM limbo")


def shown(browser: Browser) -> list[str]:
    return [link.get_attribute("href").rstrip("/").rsplit("/", 1)[1] for link in browser.seen(".gl-list li > a")]


def test_a_facet_narrows_the_list(browser: Browser, base: str) -> None:
    browser.open(f"{base}incidents/")
    everything = incidents.all_incidents()
    browser.wait(lambda: len(shown(browser)) == len(everything))
    browser.one("input[name=symptoms][value=hang]").click()
    hangs = {one.id for one in everything if "hang" in one.symptoms}
    assert set(shown(browser)) == hangs
    assert browser.one(".gl-count output").text == f"{len(hangs)} of {len(everything)} incidents"
    browser.run("document.querySelectorAll('.gl-form details').forEach((one) => { one.open = true; })")
    browser.one("input[name=components][value=nccl]").click()
    both = {one.id for one in everything if one.id in hangs and "nccl" in one.components}
    assert set(shown(browser)) == both
    assert 0 < len(both) < len(hangs)
    assert urlsplit(browser.driver.current_url).query == "symptoms=hang&components=nccl"
    browser.driver.refresh()
    assert set(shown(browser)) == both
    browser.one(".gl-count button").click()
    assert len(shown(browser)) == len(everything)


def test_the_counts_of_a_facet_tell_what_a_choice_would_leave(browser: Browser, base: str) -> None:
    browser.open(f"{base}incidents/?causes=default-setting")
    browser.wait(lambda: len(shown(browser)) < len(incidents.all_incidents()))
    label = browser.one("input[name=symptoms][value=hang]").find_element("xpath", "..")
    wanted = [one for one in incidents.all_incidents() if "default-setting" in one.causes and "hang" in one.symptoms]
    assert label.find_element("css selector", ".gl-number").text == str(len(wanted))


def test_words_narrow_the_list(browser: Browser, base: str) -> None:
    browser.open(f"{base}incidents/")
    browser.one("#gl-query").send_keys("limbo SLURM")
    browser.wait(lambda: len(shown(browser)) < 10)
    assert "IL-0125" in shown(browser)
    browser.one("#gl-query").send_keys(" nosuchword")
    browser.wait(lambda: not shown(browser))
    assert browser.one(".gl-count output").text.startswith("0 of ")


def test_a_rule_page_leads_to_its_incidents(browser: Browser, base: str) -> None:
    browser.open(f"{base}rules/CKPT003/")
    browser.one("a[href$='?rules=CKPT003']").click()
    browser.wait(lambda: path_of(browser) == "/incidents/")
    assert set(shown(browser)) == {one.id for one in incidents.for_rule("CKPT003")}


def test_a_click_on_a_node_opens_its_page(browser: Browser, base: str) -> None:
    for identifier, path, query in (
        ("incident:IL-0125", "/incidents/IL-0125/", ""),
        ("rule:NCCL001", "/rules/NCCL001/", ""),
        ("symptom:hang", "/incidents/", "symptoms=hang"),
    ):
        browser.open(f"{base}incidents/graph/")
        browser.one(f'.gl-node[data-id="{identifier}"] text').click()
        browser.wait(lambda path=path: path_of(browser) == path)
        assert urlsplit(browser.driver.current_url).query == query
    hangs = {one.id for one in incidents.all_incidents() if "hang" in one.symptoms}
    browser.wait(lambda: set(shown(browser)) == hangs)


def classed(browser: Browser, name: str) -> set[str]:
    return set(
        browser.run("return [...document.querySelectorAll(`.gl-node.${arguments[0]}`)].map((n) => n.dataset.id)", name)
    )


def links_of(identifier: str) -> set[str]:
    one = incidents.incident(identifier)
    assert one is not None
    return {
        *(f"cause:{word}" for word in one.causes),
        *(f"component:{word}" for word in one.components),
        *(f"symptom:{word}" for word in one.symptoms),
        *(f"rule:{code}" for code in one.rules),
    }


def test_the_graph_is_walked_by_the_keyboard(browser: Browser, base: str) -> None:
    from selenium.webdriver.common.keys import Keys

    browser.open(f"{base}incidents/graph/")
    browser.one(".gl-node")
    assert len(browser.all(".gl-canvas .gl-node[tabindex='0']")) == 1
    field = browser.one("#gl-pick")
    field.send_keys("IL-0125", Keys.ENTER)
    focused = "return document.activeElement.dataset.id ?? ''"
    browser.wait(lambda: browser.run(focused) == "incident:IL-0125")
    assert classed(browser, "gl-near") == links_of("IL-0125")
    assert "limbo" in browser.one(".gl-told").text
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    symptom = browser.run(focused)
    assert symptom in links_of("IL-0125")
    assert symptom.startswith("symptom:")
    browser.driver.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert browser.run(focused).startswith("symptom:") and browser.run(focused) != symptom
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    browser.wait(lambda: path_of(browser) == "/incidents/")


def test_what_is_picked_in_the_graph_stays_in_the_address(browser: Browser, base: str) -> None:
    browser.open(f"{base}incidents/graph/#rule:CKPT003")
    browser.one(".gl-chosen")
    assert classed(browser, "gl-near") == {f"incident:{one.id}" for one in incidents.for_rule("CKPT003")}
    assert browser.one("#gl-pick").get_attribute("value") == "rule CKPT003"


def test_reduced_motion_is_heeded(browser: Browser, base: str) -> None:
    moving = "return getComputedStyle(document.querySelector('.gl-node')).transitionDuration"
    browser.open(f"{base}incidents/graph/")
    browser.one(".gl-node")
    assert browser.run(moving) != "0s"
    browser.emulate(prefers_reduced_motion="reduce")
    assert browser.run(moving) == "0s"


CONTRAST = """
const box = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const rgb = (color) => {
  box.clearRect(0, 0, 1, 1);
  box.fillStyle = color;
  box.fillRect(0, 0, 1, 1);
  return box.getImageData(0, 0, 1, 1).data;
};
const linear = (c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
const light = ([r, g, b]) => 0.2126 * linear(r / 255) + 0.7152 * linear(g / 255) + 0.0722 * linear(b / 255);
const behind = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor;
    if (rgb(color)[3] === 255) return color;
  }
  return getComputedStyle(document.documentElement).colorScheme.startsWith("dark") ? "#121212" : "#ffffff";
};
return [...document.querySelectorAll(arguments[0])].slice(0, 400).map((element) => {
  const style = getComputedStyle(element);
  const text = element instanceof SVGElement ? style.fill : style.color;
  const [one, other] = [light(rgb(text)), light(rgb(behind(element)))].sort((a, b) => b - a);
  return (one + 0.05) / (other + 0.05);
});
"""
"""The contrast of the text of elements against what is behind it, as WCAG 2 counts it."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_small_texts_can_be_read(browser: Browser, base: str, scheme: str) -> None:
    browser.emulate(prefers_color_scheme=scheme)
    for page, selector in (
        ("incidents/graph/", ".gl-canvas .gl-node text, .gl-head"),
        ("incidents/IL-0125/", ".gl-chip"),
        ("rules/", ".gl-badge"),
    ):
        browser.open(base + page)
        browser.one(selector)
        ratios = browser.run(CONTRAST, selector)
        assert ratios
        assert min(ratios) >= 4.5, page


@pytest.mark.parametrize("width", [360, 1300])
def test_no_page_is_wider_than_the_window(browser: Browser, base: str, width: int) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        for page in (
            "",
            "rules/",
            "rules/NCCL001/",
            "incidents/",
            "incidents/graph/",
            "incidents/IL-0125/",
            "comparison/",
        ):
            browser.open(base + page)
            assert browser.run("return document.documentElement.scrollWidth") <= width, page
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_pages_of_every_kind_are_silent(browser: Browser, base: str) -> None:
    for page in (
        "",
        "commands/",
        "configuration/",
        "ci/github/",
        "deciding/",
        "not-visible/",
        "changelog/",
        "404.html",
    ):
        browser.open(base + page)
        assert browser.one("h1").text


# The HTML report


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report of the examples and of a job with hostile names."""
    from click.testing import CliRunner

    from kube_gaplint.cli.check import command

    folder = tmp_path_factory.mktemp("report")
    hostile = folder / "<img src=x onerror=alert(1)>.yaml"
    hostile.write_text(
        'apiVersion: batch/v1\nkind: Job\nmetadata: {name: "</script><script>document.title=1</script>"}\n'
        "spec:\n  parallelism: 4\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n"
        '      - {name: "\\u202ex", image: "pytorch/pytorch:1.13.1-cuda11.6-cudnn8-runtime", command: [python, '
        '"</style><img src=x>.py"], resources: {limits: {nvidia.com/gpu: 8}}}\n',
        encoding="utf-8",
    )
    target = folder / "report.html"
    arguments = [str(ROOT / "fixtures" / "demo"), str(hostile), "--isolated", "--min-severity", "info"]
    done = CliRunner().invoke(command, [*arguments, "--output", f"html={target}"])
    assert target.exists(), done.output
    return target.as_uri()


def test_the_report_loads_nothing_and_runs_nothing(browser: Browser, report: str) -> None:
    browser.open(report)
    assert browser.driver.title.startswith("gaplint: ")
    assert browser.all("script, img, iframe, object, embed, form") == []
    assert [url for url in browser.asked() if not url.startswith("data:")] == [report]
    assert len(browser.all("article.finding")) > 10
    browser.one("nav a").click()
    assert "#object-1" in browser.driver.current_url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_report_can_be_read(browser: Browser, report: str, scheme: str) -> None:
    browser.emulate(prefers_color_scheme=scheme)
    browser.open(report)
    ratios = browser.run(CONTRAST, "p, dt, dd, th, td, h1, h2, h3, .badge, code, a, small, mark")
    assert len(ratios) > 100
    assert min(ratios) >= 4.5


@pytest.mark.parametrize("width", [360, 1200])
def test_the_report_fits_the_window(browser: Browser, report: str, width: int) -> None:
    browser.driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        browser.open(report)
        assert browser.run("return document.documentElement.scrollWidth") <= width
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
