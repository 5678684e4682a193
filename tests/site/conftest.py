"""The site is built once."""

from __future__ import annotations

from pathlib import Path

import pytest
from site_building import HAS_MKDOCS, Site, build


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    if not HAS_MKDOCS:
        pytest.skip("mkdocs-material is not installed: pip install -e '.[docs]'")
    target: Path = tmp_path_factory.mktemp("site") / "built"
    build(target)
    return Site(target)
