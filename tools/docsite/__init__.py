"""The documentation site: what mkdocs is given besides the pages of docs/. `sitemap` holds it together."""
