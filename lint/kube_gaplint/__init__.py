"""gaplint reads the manifests of GPU training jobs and finds what a failure would turn into a lost run."""

__version__ = "0.1.0"
