"""How programs say that they know of the time limit of their job."""

from __future__ import annotations

from kube_gaplint import lazy_re

EXIT_OPTION = lazy_re.compile(
    r"(?:^|[-.])(?:exit|max|job|run|wall|stop|end|time|train|budget)(?:-\w+)*-?"
    r"(?:time|walltime|runtime|duration|limit|hours?|mins?|minutes|secs?|seconds)"
    r"(?:-(?:in|per|secs?|mins?|hours?|run|job|minutes|seconds))*$"
    r"|walltime|timelimit|^stop-after"
)
"""Names that programs of no known framework give to an option by which they save and leave in time."""
WATCHES = (
    "SLURM_JOB_END_TIME", *(f"max_time{end}" for end in "_=:,.) \"'\n"), "time_limit", "timelimit", "walltime",
    "wall_time", "max_run", "max_hours", "max_minutes", "max_seconds", "max_train_", "max_duration", "exit_duration",
    "stop_after", "deadline", "time_budget", "job_time", "composer", "submitit",
)  # fmt: skip
"""What a program mentions that may save and leave in time, whatever options it is given (not `max_timesteps`)."""
LIGHTNING, LIGHTNING_OPTIONS = "lightning", "LightningCLI"
"""Lightning's Trainer leaves by its `max_time`, which its own command line and configurations may give as well."""

HEARS_SIGNALS = lazy_re.compile(r"SIGTERM|sigterm|SIGUSR1|signal\.signal|signal_handler|preempt(?![ai]bl)")
"""Words by which a program that acts on a signal names it, a handler, or what the signal tells it (no `preemptible`
node, which has a price)."""
LIBRARIES = frozenset({"torch", "horovod", "accelerate", "deepspeed"})
"""Frameworks that handle no signal: where their program's text names one, the program itself acts on it."""
