"""What shows that somebody watches a job's progress: launchers, names of programs and options, kinds."""

from __future__ import annotations

from kube_gaplint import lazy_re

LAUNCHERS = frozenset({"dlrover-run", "ft_launcher", "hyperpodrun"})
"""NVRx's launcher expects heartbeats of every rank; HyperPod's agent watches the log, DLRover's master the steps."""

PROGRAM = lazy_re.compile(
    r"watch-?dog|heart-?beat|dead-?man|hang[-_]?(?:detect|check|monitor)|stall|liveness|dlrover-run"
)
"""In the name of a program, a script or a container beside the training program."""

OPTION = lazy_re.compile(r"watchdog|heartbeat|hang|stall|straggler|progress-timeout|enable-ft|ft-param|fault-tol")
"""In the name of an option of the training program."""

VARIABLE = lazy_re.compile(r"[A-Z0-9_]*(?:WATCHDOG|PROGRESS_TIMEOUT|HANG_DETECT|STALL_TIMEOUT)[A-Z0-9_]*\Z")
"""Names of variables that a program of the user's, or a platform, reads. torch's and NCCL's own are told apart."""

KINDS = frozenset({("elastic.iml.github.io", "ElasticJob"), ("sagemaker.amazonaws.com", "HyperPodPyTorchJob")})
"""Kinds (group, kind) whose operators look for hangs themselves: DLRover, HyperPod."""
