"""The rules that come with gaplint: one module a rule, grouped by family."""
