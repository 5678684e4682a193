"""KubeRay: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import UNKNOWN, gpu_pod, layers, main, plain, role, workload

from kube_gaplint.model.start import runtime_fetches
from kube_gaplint.model.workload import Workload


def ray_job(spec: str = "", group: str = "replicas: 3, minReplicas: 3, maxReplicas: 3", cluster: str = "") -> Workload:
    return workload(
        "apiVersion: ray.io/v1\nkind: RayJob\nmetadata: {name: r}\nspec:\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
        + "  entrypoint: python train.py --epochs 3\n  rayClusterSpec:\n"
        + (f"    {cluster}\n" if cluster else "")
        + "    headGroupSpec: {template: {spec: {containers: [{name: h, image: i, env: [{name: A, value: b}]}]}}}\n"
        f"    workerGroupSpecs: [{{groupName: g, {group}, template: {gpu_pod('[]')}}}]\n"
    )


@pytest.mark.parametrize(
    ("environment", "fetched"),
    [
        ("pip: [torch, 'numpy==2.1']", [("pip install", False)]),
        ("pip: ['numpy==2.1']", [("pip install", True)]),
        ("pip: requirements.txt", [("pip install", False)]),
        ("pip: {packages: [torch], pip_check: false}", [("pip install", False)]),
        ("pip: {packages: [torch], pip_install_options: ['--no-index']}", []),
        ("pip: ['--index-url https://pypi.acme.example/simple', torch]", []),
        ("pip: ['torch>=2; python_version < \"4\"']", [("pip install", False)]),
        ("pip: []", []),
        ("uv: [torch]", [("uv pip install", False)]),
        ("conda: training", []),
        ("conda: environment.yml", [("conda env create", False)]),
        ("conda: {dependencies: [pip]}", [("conda env create", False)]),
        ("working_dir: https://github.com/acme/runs/archive/HEAD.zip", [("the archive of a branch", False)]),
        (
            "working_dir: https://gitlab.com/acme/runs/-/archive/main/runs-main.zip",
            [("the archive of a branch", False)],
        ),
        (
            "py_modules: ['https://github.com/acme/lib/archive/refs/heads/dev.zip']",
            [("the archive of a branch", False)],
        ),
        ("working_dir: https://github.com/acme/runs/archive/refs/tags/v1.zip", []),
        ("working_dir: https://github.com/acme/runs/archive/v1.2.3.zip", []),
        ("working_dir: 's3://acme/runs.zip'", []),
        ("working_dir: '${CODE}'", []),
        ("{pip: [torch], env_vars: {PIP_INDEX_URL: 'http://pypi.acme.example'}}", []),
    ],
)
def test_what_a_runtime_environment_fetches(environment: str, fetched: list[tuple[str, bool]]) -> None:
    found = runtime_fetches(ray_job(f"runtimeEnvYAML: |\n  {environment}"))
    assert [(one.installer.title, one.pinned) for one in found] == fetched


def test_without_a_runtime_environment_nothing_is_fetched() -> None:
    assert not list(runtime_fetches(ray_job()))
    assert not list(runtime_fetches(ray_job("runtimeEnvYAML: '{{ .Values.runtime }}'")))


@pytest.mark.parametrize(
    ("spec", "first", "budget"),
    [
        pytest.param("", ("RayJob", "workload", 0, "efn"), UNKNOWN, id="A7 backoffLimit 0; max_failures unseen"),
        pytest.param("backoffLimit: 2", ("RayJob", "workload", 2, "efn"), UNKNOWN, id="A7 retries make new clusters"),
    ],
)
def test_ray_job_restarts(spec: str, first: object, budget: int | str) -> None:
    found = ray_job(spec)
    assert layers(found)[0] == first
    assert plain(found.restart_budget) == budget


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("spec.backoffLimit", "0", id="A7 backoffLimit"),
        pytest.param("spec.submitterConfig.backoffLimit", "2", id="A7 submitter"),
        pytest.param("spec.submissionMode", "K8sJobMode", id="A7 submissionMode"),
        pytest.param("spec.shutdownAfterJobFinishes", "false", id="A7 shutdown"),
        pytest.param("spec.ttlSecondsAfterFinished", "0", id="A7 ttl"),
        pytest.param("gcsFaultTolerance", "false", id="A7 GCS"),
    ],
)
def test_ray_job_fields(path: str, expected: str) -> None:
    assert plain(ray_job().fields[path]) == expected


@pytest.mark.parametrize(
    ("group", "cluster", "nodes"),
    [
        pytest.param("replicas: 3", "", 3, id="A7 replicas"),
        pytest.param("replicas: 1, minReplicas: 2", "", 2, id="utils: at least minReplicas"),
        pytest.param("replicas: 9, maxReplicas: 4", "", 4, id="utils: at most maxReplicas"),
        pytest.param("minReplicas: 2", "", 2, id="A7 default 0"),
        pytest.param("replicas: 2, numOfHosts: 4", "", 8, id="0 numOfHosts"),
        pytest.param("replicas: 3, minReplicas: 1, maxReplicas: 8", "enableInTreeAutoscaling: true", UNKNOWN, id="A7"),
        pytest.param(
            "replicas: 3, minReplicas: 3, maxReplicas: 3", "enableInTreeAutoscaling: true", 3, id="fixed size"
        ),
    ],
)
def test_ray_nodes(group: str, cluster: str, nodes: int | str) -> None:
    assert plain(ray_job(group=group, cluster=cluster).nodes) == nodes


def test_ray_entrypoint_runs_on_the_head_and_holds_no_rank() -> None:
    found = ray_job("runtimeEnvYAML: |\n  env_vars: {NCCL_DEBUG: WARN}")
    driver = role(found, "entrypoint")
    assert not driver.trains
    container = driver.pod.containers[0]
    assert [command.name for command in container.commands] == ["python"]
    assert container.commands[0].place.text == "python train.py --epochs 3"
    assert [plain(container.environment.get(name)) for name in ("A", "NCCL_DEBUG")] == ["b", "WARN"]
    assert found.classified.purpose == "training"


def test_kuberay_mounts_shared_memory_itself() -> None:  # C2
    pod = role(ray_job(), "g").pod
    mount = pod.containers[0].mounts[-1]
    assert plain(mount.path) == "/dev/shm"
    assert mount.origin.via == "injected"
    volume = pod.volume(mount.volume)
    assert volume is not None
    assert volume.kind == "memory"


def test_sidecar_mode_never_restarts_the_head() -> None:  # A7
    assert plain(role(ray_job("submissionMode: SidecarMode"), "head").pod.restart_policy) == "Never"
    assert plain(role(ray_job(), "head").pod.restart_policy) == "Always"


def test_ray_service_serves() -> None:
    found = workload(
        "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: s}\nspec:\n  rayClusterConfig:\n"
        f"    headGroupSpec: {{template: {gpu_pod('[]')}}}\n"
    )
    assert found.classified.purpose == "inference"


def test_ray_starts_in_groups_without_a_command() -> None:
    found = ray_job()
    assert [command.name for command in main(found, "head").commands] == ["ray"]
