from __future__ import annotations

from collections.abc import Collection, Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.needs import runs_other_commands
from kube_gaplint.model.scale import node_count
from kube_gaplint.model.setting import Origin
from kube_gaplint.model.start import (
    Fetch,
    fetched_by_image,
    fetches,
    guarded,
    packages_held,
    runtime_fetches,
    start_commands,
    starting_containers,
)
from kube_gaplint.model.workload import Container, Workload
from kube_gaplint.rule import Context, rule

CLONE = "git clone"
UPDATES = frozenset({"git pull", "git fetch"})
"""What scripts do to a repository that is there; where it is not, they clone it."""
SHOWN = 6
"""Commands of one container that are listed."""


@rule(
    code="IMG002",
    name="installs-at-start",
    view=Workload,
    needs=(runs_other_commands,),
    severity=Severity.WARNING,
    evidence=("bloom-eval-deadlock", "opt-175b", "pip-at-start"),
)
def check(workload: Workload, _context: Context) -> Iterator[Gap]:
    """The job installs software when it starts, so that every restart needs the network and may get other versions.

    ## What it flags
    `pip`, `conda`, `uv`, `apt-get`, `dnf`, `apk` and the like that install over the network, and `git clone` or `pull`,
    in the start script of a training container, in what it sources and in the scripts that its Slurm steps run, or in
    an init container of its pod, and git-sync on a branch there. So do `pip`, `uv` and `conda` in a RayJob's runtime
    environment, and archives of a branch as its working directory.
    A project's folder (`pip install -e .`) needs the index too, for what builds it and for what it depends on, but
    not with `--no-deps` or `--no-build-isolation`. Local wheels, `--no-index`, an index of your own, what only runs
    where a test finds it missing, and what the image's Dockerfile in the repository installs by the same words are
    left alone. Info where all that is installed follows a lock file in the repository that knows the project's
    packages (`uv.lock`): the versions then stay, and only the network is needed.

    ## Why it hurts
    A run of weeks starts again dozens of times (OPT-175B: 90), in every pod at once. When PyPI or a mirror answers with
    502 the job stays down; a script without `set -e` hides that behind an import error, which held one team up for two
    days. And a release that came out since the last start runs in the middle of the training: OPT-175B went from
    Megatron 2.4 to 2.6 by accident, which changed how it trained; BLOOM lost 35 hours to silent deadlocks, the first of
    them right after a rebased dependency had come in untested.

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
            command: [bash, -c, "pip install -r requirements.txt && exec torchrun --nproc-per-node=8 train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
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
            image: ghcr.io/acme/train:1.5
            command: [bash, -c, "exec torchrun --nproc-per-node=8 train.py"]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    While you develop, and nothing long depends on it.

    ## Fix safety
    There is no automatic fix: build the image with what it needs.

    ## References
    - https://github.com/amazon-braket/amazon-braket-containers/pull/510
    - https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md
    """
    if not workload.trains:
        return
    for role, container in starting_containers(workload):
        commands = start_commands(workload, container)
        fetched = list(fetches(commands, container.files, packages_held(container)))
        found = [one for one in fetched if not guarded(one.command)]
        instead = {one.installer.title for one in fetched if guarded(one.command)}
        by_image = fetched_by_image(container)
        if by_image is not None and not by_image.pinned:
            found.append(by_image)
        if found:
            yield _gap(workload, found, node_count(workload) if role.trains else None, container, instead)
    found = list(runtime_fetches(workload))
    if found:
        yield _gap(workload, found, None, None)


def _gap(
    workload: Workload,
    found: list[Fetch],
    pods: int | None,
    container: Container | None,
    instead: Collection[str] = (),
) -> Gap:
    """One finding for all that one container, or the runtime environment of a job, fetches. `instead`: what runs where
    something is missing."""
    titles = list(dict.fromkeys(one.installer.title for one in found))
    sources = list(dict.fromkeys(one.installer.source for one in found))
    what = "pods" if workload.batch is None else "nodes"
    every = f"the start of each of {pods} {what}" if pods is not None and pods > 1 else "every start"
    return Gap(
        Origin(found[0].command.place),
        f"{', '.join(_either(title, instead) for title in titles[:SHOWN])} at {every}",
        f"a restart fails when {' or '.join(sources)} cannot be reached"
        + ("" if all(one.pinned or one.locked for one in found) else ", and may run other versions than before"),
        detail="install:" + ",".join(titles),
        severity=Severity.INFO if all(one.locked for one in found) else Severity.WARNING,
        related=tuple(Related(Origin(one.command.place), one.installer.title) for one in found[1:SHOWN]),
        fix=Fix("put it into the image, or install from local wheels with --no-index"),
        container=container.name if container is not None else "",
    )


def _either(title: str, instead: Collection[str]) -> str:
    """What runs, with the command that runs in its stead in a fresh folder."""
    return f"{CLONE} or {title}" if title in UPDATES and CLONE in instead else title
