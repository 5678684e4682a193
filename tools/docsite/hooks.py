"""What mkdocs calls while it builds the site: the pages that nobody writes by hand come from here.

They exist in the build alone, never as files of the repository.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docsite import sitemap


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    config.nav = sitemap.navigation()
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    for path, content in sitemap.generated().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    del config, files
    path = page.file.src_uri
    return markdown if path in sitemap.generated() else sitemap.by_hand(markdown, path)
