"""Reports of the bundled examples before validators of other makers: Microsoft's for SARIF, with the rules of GitHub's
code scanning, and one for reviewdog's format. Both come from npm.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
SARIF, RDJSON = "@microsoft/sarif-multitool-linux", "@umbrelladocs/rdformat-validator"
VERSIONS = {SARIF: "5.7.0", RDJSON: "1.0.1"}


def run(*command: str | Path, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=where,
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the validators, and with reports of runs that find something and that find nothing."""
    npm = shutil.which("npm")
    if npm is None or (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        pytest.skip("the validators need npm, and Linux on x86_64")
    here = tmp_path_factory.mktemp("validators")
    packages = [f"{name}@{version}" for name, version in VERSIONS.items()]
    done = run(npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", *packages, where=here)
    if done.returncode:
        pytest.skip(f"npm cannot get the validators: {done.stdout[-300:]}")
    (here / "empty").mkdir()
    for name, path in (("found", PROJECT / "fixtures" / "demo"), ("empty", here / "empty")):
        outputs = [f"--output={kind}={name}.{kind}" for kind in ("sarif", "rdjson")]
        linted = run(sys.executable, "-m", "kube_gaplint", "--min-severity=info", *outputs, path, where=here)
        assert linted.returncode == (1 if name == "found" else 0), linted.stdout
    return here


@pytest.mark.parametrize("name", ["found", "empty"])
def test_sarif(folder: Path, name: str) -> None:
    tool = folder / "node_modules" / SARIF / "Sarif.Multitool"
    tool.chmod(0o755)
    done = run(tool, "validate", f"{name}.sarif", "--rule-kind", "Sarif;Gh;Ghas", where=folder)
    remarks = [line for line in done.stdout.splitlines() if ": warning " in line or ": error " in line]
    # A tool should have an address; gaplint has none yet.
    assert [line for line in remarks if "SARIF2005" not in line] == []
    assert "Analysis completed successfully." in done.stdout


@pytest.mark.parametrize("name", ["found", "empty"])
def test_rdjson(folder: Path, name: str) -> None:
    done = run("node_modules/.bin/rdformat-validator", "--strict", f"{name}.rdjson", where=folder)
    assert done.returncode == 0, done.stdout
