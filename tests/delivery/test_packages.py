"""Wheel and sdist: what they hold, and that pip, pipx and uv install them so that they run, away from this tree."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
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


def run(*command: str | Path, where: Path | None = None, **variables: Path) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command,
        cwd=where,
        env={**ENVIRONMENT, **variables},
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


def with_pip(package: Path, folder: Path) -> Path:
    assert run(sys.executable, "-m", "venv", folder).returncode == 0
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    done = run(scripts / "python", "-m", "pip", "install", "--quiet", package)
    assert done.returncode == 0, done.stdout
    assert run(scripts / "python", "-m", "pip", "check").returncode == 0
    return scripts


def with_pipx(package: Path, folder: Path) -> Path:
    pytest.importorskip("pipx")
    places = {"PIPX_HOME": folder / "home", "PIPX_BIN_DIR": folder / "bin", "PIPX_MAN_DIR": folder / "man"}
    done = run(sys.executable, "-m", "pipx", "install", "--python", sys.executable, package, **places)
    assert done.returncode == 0, done.stdout
    return places["PIPX_BIN_DIR"]


def with_uv(package: Path, folder: Path) -> Path:
    pytest.importorskip("uv")
    places = {"UV_TOOL_DIR": folder / "tools", "UV_TOOL_BIN_DIR": folder / "bin", "UV_CACHE_DIR": folder / "cache"}
    done = run(sys.executable, "-m", "uv", "tool", "install", "--python", sys.executable, package, **places)
    assert done.returncode == 0, done.stdout
    return places["UV_TOOL_BIN_DIR"]


@pytest.mark.parametrize("kind", ["wheel", "sdist"])
@pytest.mark.parametrize("install", [with_pip, with_pipx, with_uv])
def test_it_is_installed_and_runs(
    install: Callable[[Path, Path], Path], kind: str, packages: dict[str, Path], tmp_path: Path
) -> None:
    scripts, elsewhere = install(packages[kind], tmp_path / "installed"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    for command in ("gaplint", "kube-gaplint"):
        assert run(scripts / command, "--version", where=elsewhere).stdout.startswith("gaplint ")
    (elsewhere / "run.sbatch").write_text(SCRIPT)
    linted = run(scripts / "gaplint", "--min-severity", "info", "--output", "sarif=out.sarif", where=elsewhere)
    assert linted.returncode == 1, linted.stdout
    assert "run.sbatch" in linted.stdout
    assert (elsewhere / "out.sarif").exists()
    assert "IL-0125" in run(scripts / "gaplint", "explain", "IL-0125", where=elsewhere).stdout
    assert run(scripts / "gaplint", "init", where=elsewhere).returncode == 0
