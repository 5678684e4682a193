"""What shows that somebody watches a job's progress: launchers, names of programs and options, kinds."""

from __future__ import annotations

import re

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

ENDING = frozenset({"scancel", "kill", "pkill", "killall", "skill", "scontrol", "mail", "mailx", "sendmail"})
"""Programs by which a loop in a script ends a job, or calls a person."""

LOOKING = lazy_re.compile(
    r"-[cm]min\b|-newer|\binotifywait\b|\b(?:stat|tail|wc|md5sum|sha1sum|cksum|grep|awk|du)\b|[ \t]-[no]t[ \t]|"
    r"\bls[ \t]+-\w*t|\butilization"
)
"""How a loop looks at a log, at checkpoints or at how busy the GPUs are."""
NOT_PROGRESS = lazy_re.compile(
    r"\bcurl\b|\bwget\b|169\.254\.|metadata|preempt|\bspot\b|\bsqueue\b|\bsacct\b", re.IGNORECASE
)
"""What tells that it looks at something else: a notice of the provider, the state of the queue."""

OWN_GUARD = lazy_re.compile(
    r"\bdump_traceback_later\(|\bsignal\.alarm\(|"
    r"\b(?:class|def)[ \t]+\w*(?:watch_?dog|heart_?beat|(?:hang|stall)_?(?:detect|monitor|check))",
    re.IGNORECASE,
)
"""A guard of the program's own: a timer that ends the process, a class or a function called like one."""
