"""gaplint reads the manifests of GPU training jobs and finds what a failure would turn into a lost run."""

__version__ = "0.1.0"
BUILTIN_PACK = "kube_gaplint_rules"
"""The package with the rules that come along. Nothing else names it."""
