from __future__ import annotations

from collections.abc import Iterator

from kube_gaplint.findings import Fix, Gap, Related, Severity
from kube_gaplint.model.data import fetches_from_hub, hub_ids, prefetched
from kube_gaplint.model.setting import Set
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.rule import Context, rule


@rule(
    code="DATA003",
    name="every-rank-downloads",
    view=TrainingProcess,
    severity=Severity.WARNING,
    evidence=("hf-429",),
)
def check(process: TrainingProcess, _context: Context) -> Iterator[Gap]:
    """Every pod fetches its model or data set from the Hub when it starts.

    ## What it flags
    A training of several pods whose program is given ids of the Hugging Face Hub (`org/name`), or itself hands them to
    `from_pretrained`, `load_dataset` or `snapshot_download`, without `HF_HUB_OFFLINE` or its kin, and with a cache that
    no volume keeps. Local paths, an own endpoint, a cache on a volume or the host, calls under a condition, an
    initializer or a download step are left alone.

    ## Why it hurts
    The Hub allows 3,000 requests in five minutes from an account or an address. All ranks of a job ask at once, and
    after a restart again: a start on two nodes already failed with 429, others waited 120 to 207 seconds for each
    back-off, and a crash loop that downloads keeps the address blocked. While one rank waits, all others hold their
    GPUs.

    ## Bad
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      parallelism: 4
      completions: 4
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=4, --nproc-per-node=8, sft.py, --model_name_or_path, acme-org/base-8b]
            resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: batch/v1
    kind: Job
    metadata: {name: tune}
    spec:
      parallelism: 4
      completions: 4
      completionMode: Indexed
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: trainer
            image: ghcr.io/acme/train:1.4
            command: [torchrun, --nnodes=4, --nproc-per-node=8, sft.py, --model_name_or_path, acme-org/base-8b]
            env: [{name: HF_HOME, value: /cache/hf}, {name: HF_HUB_OFFLINE, value: "1"}]
            volumeMounts: [{name: cache, mountPath: /cache}]
            resources: {limits: {nvidia.com/gpu: 8}}
          volumes: [{name: cache, persistentVolumeClaim: {claimName: models}}]
    ```

    ## When to keep it
    When the image holds the model in its cache.

    ## Fix safety
    There is no automatic fix: something has to fill the cache first, and offline a program fails where it lacks a file.

    ## References
    - https://github.com/allenai/OLMo/issues/550
    - https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables
    """
    workload, nodes = process.workload, process.nodes
    if not workload.trains or workload.batch is not None or not isinstance(nodes, Set) or nodes.value < 2:
        return
    ids = hub_ids(process)
    if not ids or not fetches_from_hub(process) or prefetched(workload):
        return
    names = " and ".join(one.value for one in ids[:3])
    yield Gap(
        ids[0].origin,
        f"{nodes.value} pods fetch {names} from the Hub at every start",
        "the Hub answers 429 when all ranks ask at once, and the job waits or fails while it holds its GPUs",
        detail="hub:" + ",".join(sorted(one.value for one in ids)),
        related=tuple(Related(one.origin, f"fetched: {one.value}") for one in ids[1:3]),
        fix=Fix("fetch it once into a shared cache, and set HF_HUB_OFFLINE=1"),
        container=process.container.name,
    )
