# ruff: noqa: PTH118
# Paths are strings there.
"""What the disk is asked, and what it answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint import filesystem

NAMES = ("a", "b", "file", "link", "loop", "away", "dead", "..", ".", "", "missing", "tmp")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("tree").resolve()
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "file").touch()
    (root / "a" / "link").symlink_to("../a/b")
    (root / "a" / "loop").symlink_to("loop")
    (root / "a" / "b" / "away").symlink_to("/tmp")
    (root / "a" / "b" / "dead").symlink_to("missing/further")
    return root


@given(st.lists(st.sampled_from(NAMES), min_size=1, max_size=7).map("/".join), st.sampled_from(["", "a", "a/b"]))
def test_a_path_below_a_real_folder_is_the_one_that_python_finds(tree: Path, relative: str, below: str) -> None:
    folder = str(tree / below)
    assert filesystem.real_below(folder, relative) == os.path.realpath(os.path.join(folder, relative))
    assert filesystem.real_below("/", relative) == os.path.realpath(os.path.join("/", relative))
