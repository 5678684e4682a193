"""A real Chromium without a window, and what it asked of the network."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")
MISSING = (
    "selenium is not installed: pip install -e '.[docs]'"
    if find_spec("selenium") is None
    else "there is no chromium with its chromedriver: apt-get install chromium chromium-driver"
    if CHROMIUM is None or DRIVER is None
    else ""
)
"""Why no browser can be had; empty where one can."""
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
)  # fmt: skip
PATIENCE = 30
"""Seconds to wait for what a page does by itself."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *arguments: Any) -> None:
        del format, arguments


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on this machine; the address of its root."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/"
    finally:
        server.shutdown()
        server.server_close()


class Browser:
    """A driven Chromium. Take it from `opened`."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, address: str) -> None:
        self.driver.get(address)

    def all(self, selector: str) -> list[Any]:
        return list(self.driver.find_elements("css selector", selector))

    def seen(self, selector: str) -> list[Any]:
        return [item for item in self.all(selector) if item.is_displayed()]

    def one(self, selector: str) -> Any:
        """The first element that comes to be there."""
        return self.wait(lambda: next(iter(self.seen(selector)), None))

    def wait(self, condition: Any) -> Any:
        """Wait until a condition gives something true, and give that."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.driver, PATIENCE).until(lambda _: condition())

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def emulate(self, **features: str) -> None:
        """Set features of the medium: `prefers_color_scheme="dark"`, `prefers_reduced_motion="reduce"`."""
        listed = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": listed})

    def complaints(self) -> list[str]:
        """What the console has said since the last call."""
        return [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]

    def asked(self) -> list[str]:
        """The addresses that were asked for since the last call."""
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        wanted = ("Network.requestWillBeSent", "Network.webSocketCreated")
        found = [event["params"] for event in events if event["method"] in wanted]
        return [params["request"]["url"] if "request" in params else params["url"] for params in found]


@contextmanager
def opened(profile: Path, width: int = 1300, height: int = 1000) -> Iterator[Browser]:
    """A browser with a new profile."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={width},{height}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(executable_path=DRIVER)
    driver = webdriver.Chrome(options=options, service=service)
    driver.set_page_load_timeout(120)
    try:
        yield Browser(driver)
    finally:
        driver.quit()
