"""A report as gaplint writes it, of the bundled examples, for people who want to see one first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from docsite.addresses import ROOT

PAGE = "sample-report.html"
_PROFILE = Path(__file__).parent / "sample.gaplint.yaml"


def report() -> str:
    """The HTML report of fixtures/demo under a profile that says how long a step and a save are."""
    command = [sys.executable, "-m", "kube_gaplint", "fixtures/demo", "--format", "html", "--min-severity", "info"]
    config = ["--config", str(_PROFILE.relative_to(ROOT)), "--quiet"]
    done = subprocess.run([*command, *config], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 1:  # the examples hold gaps on purpose
        raise RuntimeError(f"gaplint exited with {done.returncode}: {done.stderr}")
    return done.stdout
