"""Another gaplint, or another Python, is another key."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from caching import Runner, later

from kube_gaplint.cache import key
from kube_gaplint.cache.shelf import Shelf


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the place of gaplint's own."""
    folder = tmp_path / "package"
    (folder / "rules" / "__pycache__").mkdir(parents=True)
    (folder / "rules" / "one.py").write_text("a = 1\n")
    (folder / "table.tsv").write_text("a\tb\n")
    monkeypatch.setattr(key, "_packages", lambda: (str(folder),))
    monkeypatch.setattr(key, "SETTLED", 0)
    later(folder)
    return folder


@pytest.mark.parametrize("name", ["rules/one.py", "table.tsv"])
def test_a_changed_file(run: Runner, package: Path, name: str) -> None:
    run()
    assert run.repeats()
    (package / name).write_text("changed")
    later(package)
    assert not run.repeats()
    assert run.repeats()


def test_a_file_more_or_less(run: Runner, package: Path) -> None:
    run()
    (package / "rules" / "two.py").write_text("")
    later(package)
    assert not run.repeats()
    (package / "rules" / "two.py").unlink()
    later(package)
    assert run.repeats()  # as it was


def test_compiled_files_do_not_count(run: Runner, package: Path) -> None:
    run()
    (package / "rules" / "__pycache__" / "one.pyc").write_bytes(b"x")
    later(package)
    assert run.repeats()


def test_the_same_code_with_other_times_is_the_same(run: Runner, package: Path) -> None:
    """As on another machine."""
    run()
    for path in package.rglob("*.*"):
        if path.is_file():
            text = path.read_bytes()
            path.unlink()
            path.write_bytes(text)
            os.utime(path, (1_000_000, 1_000_000))
    later(package)
    assert run.repeats()


@pytest.mark.usefixtures("package")
def test_files_are_read_once(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(key, "_contents", lambda: pytest.fail("they were read again"))
    assert run.repeats()


def test_files_that_changed_just_now_are_read_again(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A later change may get the same time."""
    monkeypatch.setattr(key, "SETTLED", 10**15)
    with Shelf(str(tmp_path / "cache"), make=True) as shelf:
        before = key.code(shelf)
        assert not shelf.stored()
        (package / "table.tsv").write_text("x\ty\n")
        assert key.code(shelf) != before


def test_another_package_beside_it(run: Runner, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "site"
    (site / "ruamel_yaml-0.18.0.dist-info").mkdir(parents=True)
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    later(package)
    run()
    assert run.repeats()
    (site / "ruamel_yaml-0.18.0.dist-info").rename(site / "ruamel_yaml-0.19.0.dist-info")
    later(package)
    assert not run.repeats()


def test_another_python(run: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr(sys, "version", f"{sys.version} and more")
    assert not run.repeats()


def test_code_in_an_archive_is_not_remembered(run: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = tmp_path / "gaplint.pyz"
    archive.write_bytes(b"PK")
    monkeypatch.setattr(key, "_packages", lambda: (str(archive / "kube_gaplint"),))
    assert not run.repeats()
    assert not run.repeats()
