from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import runs_other_commands
from kube_gaplint.model.setting import Set
from kube_gaplint.model.start import starting_containers
from kube_gaplint.model.wipe import Wipe, shared_volume, wiped_save, wipes
from kube_gaplint.model.workload import Container, Role, Workload
from kube_gaplint.rule import Context, rule


@rule(
    code="DATA001",
    name="wipes-shared-path-on-start",
    view=Workload,
    needs=(runs_other_commands,),
    severity=Severity.WARNING,
    evidence=("IL-0137",),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The start script deletes the checkpoints, or a folder that all pods share.

    ## What it flags
    `rm -rf` and `find … -delete` before the training, of the folder that the program saves to (error: a restart deletes
    what it should go on from), of a folder on a volume that several pods share, or, in a batch script, of one that its
    name calls checkpoints (warning). What one rank alone does, folders of one pod, emptyDirs, disks of a node's own and
    what a test must allow first are left alone.

    ## Why it hurts
    A start script runs at every restart, in every pod. Deleting the save path there turns the restart into a start from
    nothing. On a shared cache, all nodes delete the same files while others read them: on 60 nodes the initialisation
    of a job took over eight hours, with small reads and synchronous deletes that saturated the metadata service.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [bash, -c]
            args:
            - |
              rm -rf /ckpt/run1
              exec torchrun --nproc-per-node=8 run_clm.py --model_name_or_path=/models/base --output_dir=/ckpt/run1
            volumeMounts: [{name: ckpt, mountPath: /ckpt}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: ckpt, persistentVolumeClaim: {claimName: ckpt}}]
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [bash, -c]
            args:
            - |
              exec torchrun --nproc-per-node=8 run_clm.py --model_name_or_path=/models/base --output_dir=/ckpt/run1
            volumeMounts: [{name: ckpt, mountPath: /ckpt}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: ckpt, persistentVolumeClaim: {claimName: ckpt}}]
    ```

    ## When to keep it
    When the job surely runs once, and what lies there is of no use.

    ## Fix safety
    There is no automatic fix: delete by hand, or in a step of its own that runs once.

    ## References
    - https://arxiv.org/abs/2605.09370
    """
    if not workload.trains:
        return
    for role, container in starting_containers(workload):
        for wipe in wipes(workload, container):
            yield from _judged(workload, role, container, wipe)


def _judged(workload: Workload, role: Role, container: Container, wipe: Wipe) -> Iterator[Gap]:
    saved = wiped_save(wipe, workload, role, container)
    if saved is not None:
        yield Gap(
            wipe.origin,
            f"{wipe.title} of {wipe.folder} at every start, and checkpoints are saved to {saved.value}",
            "a restart deletes the checkpoints that it should go on from: the whole run is lost",
            detail="save-path",
            severity=Severity.ERROR,
            related=(Related(saved.origin, "checkpoints are saved here"),),
            fix=Fix("delete by hand, or in a job of its own"),
            container=container.name,
        )
        return
    if workload.batch is not None and wipe.all_of_it and wipe.says_checkpoints:
        yield Gap(
            wipe.origin,
            f"{wipe.title} of {wipe.folder} at every start of the job, a folder of checkpoints by its name",
            "each restart and each new submission deletes what an earlier run, or another job, has saved there",
            detail=f"named:{wipe.folder}",
            fix=Fix("delete by hand, or in a job of its own"),
            container=container.name,
        )
        return
    pods = role.replicas.value if isinstance(role.replicas, Set) else 0
    volume = None if workload.batch is not None or pods < 2 else shared_volume(wipe.folder, role, container)
    if volume is not None:
        yield Gap(
            wipe.origin,
            f"{wipe.title} of {wipe.folder} in the start script of {pods} pods, which share it",
            "all of them delete the same files while others read them, and the metadata server holds everybody up",
            detail=f"shared:{wipe.folder}",
            related=(Related(volume.origin, f"the volume {volume.name}"),),
            fix=Fix("let one rank do it, or a step before the job"),
            container=container.name,
        )
