"""Wheel and sdist: what they hold, and that they install and run in a fresh environment, away from this tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\nsrun torchrun train.py\n"
NEEDED = (
    "kube_gaplint/py.typed",
    "kube_gaplint/report/schema.json",
    "kube_gaplint/config/schema.json",
    "kube_gaplint/config/starter.yaml",
    "kube_gaplint/facts/variables.tsv",
    "kube_gaplint_rules/_index.py",
    "kube_gaplint_rules/incidents/IL-0125.yaml",
)


def run(*command: str | Path, where: Path | None = None) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=where,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode and ("No matching distribution" in done.stdout or "Could not find a version" in done.stdout):
        pytest.skip("pip cannot get what the package needs: no package index in reach")
    return done


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The wheel and the sdist of this tree; the wheel is built from the sdist, as an index's user gets it."""
    folder = tmp_path_factory.mktemp("dist")
    done = run(sys.executable, "-m", "build", "--outdir", folder, PROJECT)
    assert done.returncode == 0, done.stdout
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


def test_the_wheel_holds_what_a_run_needs_and_nothing_else(packages: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(packages["wheel"]).namelist())
    assert set(NEEDED) <= names
    assert {name.split("/")[0].split("-")[0] for name in names} == {
        "kube_gaplint",
        "kube_gaplint_rules",
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_holds_the_tests(packages: dict[str, Path]) -> None:
    with tarfile.open(packages["sdist"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "docs/stability.md", "tests/conftest.py"}
    assert wanted <= names
    assert not [name for name in names if name.startswith((".venv", "dist"))]


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_it_runs_in_a_fresh_environment(packages: dict[str, Path], kind: str, tmp_path: Path) -> None:
    environment, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert run(sys.executable, "-m", "venv", environment).returncode == 0
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    done = run(scripts / "python", "-m", "pip", "install", "--quiet", packages[kind])
    assert done.returncode == 0, done.stdout
    assert run(scripts / "python", "-m", "pip", "check").returncode == 0
    for command in ("gaplint", "kube-gaplint"):
        assert run(scripts / command, "--version", where=elsewhere).stdout.startswith("gaplint ")
    (elsewhere / "run.sbatch").write_text(
        "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\nsrun torchrun t.py\n"
    )
    linted = run(scripts / "gaplint", "--min-severity", "info", "--output", "sarif=out.sarif", where=elsewhere)
    assert linted.returncode == 1, linted.stdout
    assert "run.sbatch" in linted.stdout
    assert (elsewhere / "out.sarif").exists()
    assert "IL-0125" in run(scripts / "gaplint", "explain", "IL-0125", where=elsewhere).stdout
    assert run(scripts / "gaplint", "init", where=elsewhere).returncode == 0
