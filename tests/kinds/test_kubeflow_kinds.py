"""PyTorchJob, TFJob, XGBoostJob, PaddleJob and JAXJob: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import ABSENT, ENDLESS, UNKNOWN, gpu_pod, layers, main, plain, profile, role, workload

from kube_gaplint.model.setting import Set
from kube_gaplint.model.workload import Workload

SPECS = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}


def kubeflow(
    kind: str = "PyTorchJob", spec: str = "", master: str = "", worker: str = "replicas: 3", **more: str
) -> Workload:
    pod = more.get("pod") or gpu_pod()
    masters = f"    Master: {{{master or 'replicas: 1'}, template: {pod}}}\n" if "no_master" not in more else ""
    return workload(
        f"apiVersion: kubeflow.org/v1\nkind: {kind}\nmetadata: {{name: j}}\nspec:\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
        + f"  {SPECS[kind]}:\n{masters}    Worker: {{{worker}, template: {pod}}}\n",
        more.get("profile"),  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("kind", "policy", "budget"),
    [
        pytest.param("PyTorchJob", "OnFailure", ENDLESS, id="A3 PyTorchJob, G3"),
        pytest.param("PaddleJob", "OnFailure", ENDLESS, id="A3 PaddleJob"),
        pytest.param("TFJob", "Never", 0, id="A3 TFJob"),
        pytest.param("XGBoostJob", "Never", 0, id="A3 XGBoostJob"),
        pytest.param("JAXJob", "Never", 0, id="A3 JAXJob"),
    ],
)
def test_kubeflow_restart_defaults(kind: str, policy: str, budget: int) -> None:
    found = kubeflow(kind)
    assert plain(role(found, "Worker").fields["restartPolicy"]) == policy
    assert plain(role(found, "Worker").pod.restart_policy) == policy
    assert plain(found.restart_budget) == budget


@pytest.mark.parametrize(
    ("spec", "worker", "budget"),
    [
        pytest.param("", "replicas: 3, restartPolicy: OnFailure", ENDLESS, id="A3 no backoffLimit: no limit"),
        pytest.param("runPolicy: {backoffLimit: 9}", "replicas: 3, restartPolicy: OnFailure", 9, id="A3 backoffLimit"),
        pytest.param("", "replicas: 3, restartPolicy: Never", 0, id="A3 Never ends the job"),
        pytest.param("", "replicas: 3, restartPolicy: ExitCode", 0, id="A3 ExitCode: 1 is permanent"),
        pytest.param("", "replicas: 3, restartPolicy: '${P}'", UNKNOWN, id="G9 placeholder"),
        pytest.param(
            "elasticPolicy: {minReplicas: 2, maxReplicas: 4, maxRestarts: 2}\nrunPolicy: {backoffLimit: 3}",
            "replicas: 3",
            11,
            id="A3 elastic: 4*3-1",
        ),
    ],
)
def test_pytorch_budget(spec: str, worker: str, budget: int | str) -> None:
    assert plain(kubeflow(spec=spec, worker=worker).restart_budget) == budget


def test_exit_code_makes_pods_that_never_restart() -> None:  # A3
    found = kubeflow(worker="replicas: 3, restartPolicy: ExitCode")
    assert plain(role(found, "Worker").pod.restart_policy) == "Never"
    assert plain(role(found, "Worker").fields["restartPolicy"]) == "ExitCode"


def test_the_template_has_no_say_in_the_restart_policy() -> None:  # A3, row "pod template.spec.restartPolicy"
    found = kubeflow(pod=gpu_pod(restartPolicy="Never"))
    assert plain(role(found, "Worker").pod.restart_policy) == "OnFailure"


def test_old_operators_do_not_make_failed_pods_again() -> None:  # A3: <= v1.6
    old = kubeflow(profile=profile(training_operator=(1, 6)))  # type: ignore[arg-type]
    assert layers(old) == [("training operator", "pod", ENDLESS, "f")]
    assert layers(kubeflow()) == [("training operator", "pod", ENDLESS, "efn")]


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        pytest.param("", "spec.runPolicy.cleanPodPolicy", "None", id="A3 cleanPodPolicy"),
        pytest.param("", "spec.runPolicy.backoffLimit", ABSENT, id="A3 backoffLimit nil"),
        pytest.param("", "spec.runPolicy.ttlSecondsAfterFinished", ABSENT, id="A3 ttl nil"),
        pytest.param(
            "ttlSecondsAfterFinished: 60", "spec.runPolicy.ttlSecondsAfterFinished", ABSENT, id="A3 wrong level"
        ),
        pytest.param("ttlSecondsAfterFinished: 60", "spec.ttlSecondsAfterFinished", "60", id="A3 what is written"),
        pytest.param("", "spec.nprocPerNode", "auto", id="A3 nprocPerNode"),
        pytest.param("elasticPolicy: {nProcPerNode: 4}", "spec.nprocPerNode", "4", id="A3 the deprecated place"),
        pytest.param(
            "elasticPolicy: {maxReplicas: 5}", "spec.elasticPolicy.minReplicas", "5", id="A3 one copies the other"
        ),
        pytest.param("elasticPolicy: {rdzvConf: []}", "spec.elasticPolicy.maxReplicas", "3", id="A3 Worker.replicas"),
        pytest.param("elasticPolicy: {}", "spec.elasticPolicy.rdzvBackend", "c10d", id="facts 1.7"),
        pytest.param("", "spec.elasticPolicy.rdzvBackend", ABSENT, id="no policy, no backend"),
    ],
)
def test_kubeflow_fields(spec: str, path: str, expected: str) -> None:
    assert plain(kubeflow(spec=spec).fields[path]) == expected


@pytest.mark.parametrize(
    ("spec", "elastic"),
    [
        ("", False),
        ("elasticPolicy: {minReplicas: 2, maxReplicas: 4}", True),
        ("elasticPolicy: {minReplicas: 4, maxReplicas: 4}", False),
        ("elasticPolicy: {minReplicas: '${N}', maxReplicas: 4}", UNKNOWN),
    ],
)
def test_elasticity(spec: str, elastic: bool | str) -> None:
    assert plain(kubeflow(spec=spec).elastic) == elastic


@pytest.mark.parametrize(
    ("spec", "gang"),
    [
        ("", False),
        ("runPolicy: {schedulingPolicy: {minAvailable: 4}}", True),
        ("runPolicy: {schedulingPolicy: {}}", False),
        ("runPolicy: {schedulingPolicy: '${P}'}", UNKNOWN),
    ],
)
def test_scheduling_policy(spec: str, gang: bool | str) -> None:
    assert plain(kubeflow(spec=spec).gang_scheduled) == gang


def test_variables_of_a_static_pytorch_job() -> None:  # facts 1.7
    found = kubeflow(spec="nprocPerNode: '8'")
    worker, master = main(found, "Worker").environment, main(found, "Master").environment
    names = ("MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "PET_NNODES", "PET_NPROC_PER_NODE", "PET_RDZV_BACKEND")
    assert [plain(worker.get(name)) for name in names] == ["j-master-0", "23456", "32", UNKNOWN, "4", "8", ABSENT]
    assert plain(master.get("RANK")) == "0"
    address = worker.get("MASTER_ADDR")
    assert isinstance(address, Set)
    assert address.origin.via == "injected"


def test_the_operators_variables_win_over_the_manifests() -> None:  # facts 1.7: appended, the last wins
    own = "env: [{name: MASTER_ADDR, value: x}]"
    pod = f"{{spec: {{containers: [{{name: pytorch, image: i, command: [python, t.py], {own}}}]}}}}"
    found = kubeflow(pod=pod)
    assert plain(main(found, "Worker").environment.get("MASTER_ADDR")) == "j-master-0"


def test_variables_of_an_elastic_pytorch_job() -> None:  # facts 1.7
    found = kubeflow(
        spec="elasticPolicy: {minReplicas: 2, maxReplicas: 4, maxRestarts: 7,\n"
        "  rdzvConf: [{key: join_timeout, value: '900'}]}",
        no_master="",
    )
    environment = main(found, "Worker").environment
    names = ("PET_NNODES", "PET_RDZV_BACKEND", "PET_MAX_RESTARTS", "PET_RDZV_CONF", "MASTER_ADDR", "PET_RDZV_ENDPOINT")
    assert [plain(environment.get(name)) for name in names] == [
        "2:4", "c10d", "7", "join_timeout=900", ABSENT, UNKNOWN,
    ]  # fmt: skip
    assert plain(main(kubeflow(spec="elasticPolicy: {}")).environment.get("PET_MAX_RESTARTS")) == ABSENT


def test_without_a_master_no_address_is_injected() -> None:  # facts 1.7: Master present triggers MASTER_*
    environment = main(kubeflow(no_master="")).environment
    assert [plain(environment.get(name)) for name in ("MASTER_ADDR", "PET_NNODES")] == [ABSENT, "3"]
