"""The rules that come with gaplint: one module a rule, grouped by family."""

__version__ = "0.1.0"
