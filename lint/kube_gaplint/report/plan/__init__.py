"""What `gaplint plan` says: `text` for people, `plain` for programs, `svg` and `chart` draw the curve."""

from __future__ import annotations
