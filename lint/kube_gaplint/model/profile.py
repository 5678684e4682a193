"""What the user declares about the cluster because no manifest says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from kube_gaplint.model.training import Release


class Profile(Struct, frozen=True):
    """The `profile` section of the configuration; None and empty mean "not declared".

    Times are seconds, `run_days` days. `failures_per_1000_node_days` is the rate of failures that end a job, per
    thousand 8-GPU nodes and day (default 5: Llama 3 3.8, BLOOM 3.0, RSC-1 6.5; facts.reliability).
    """

    torch: Release = ()
    nccl: Release = ()
    kubernetes: Release = ()
    trainer: Release = ()
    training_operator: Release = ()
    autoscaler: str = ""
    gang_scheduler: bool | None = None
    node_health: bool | None = None
    supervisor: bool | None = None
    rdma: bool | None = None
    memlock_unlimited: bool | None = None
    kill_on_bad_exit: bool | None = None
    slurm_requeue: bool | None = None
    gpus_per_node: int | None = None
    step_seconds: float | None = None
    save_seconds: float | None = None
    run_days: float | None = None
    failures_per_1000_node_days: float = 5.0
