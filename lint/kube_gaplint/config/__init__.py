"""The configuration: `.gaplint.yaml`, or `[tool.gaplint]` in pyproject.toml.

`load` finds and reads it, and answers mistakes with their places. What a run does with it is decided by the command
line, whose options come before it.
"""

from __future__ import annotations

from kube_gaplint.config.find import YAML_NAMES, ConfigProblem
from kube_gaplint.config.settings import Config, load

__all__ = ["YAML_NAMES", "Config", "ConfigProblem", "load"]
