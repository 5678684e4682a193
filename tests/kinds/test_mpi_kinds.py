"""MPIJob v1, v1alpha2 and v2beta1: effective values and restarts.

The ids of the rows name the section of the facts on Kubernetes objects that they check.
"""

from __future__ import annotations

import pytest
from job_samples import gpu_pod, layers, main, plain, role, workload

from kube_gaplint.model.workload import Workload


def mpi(version: str, launcher: str = "", worker: str = "", spec: str = "", launcher_pod: str = "") -> Workload:
    pod = launcher_pod or "{spec: {containers: [{name: l, image: i, command: [mpirun, -np, '32', python, train.py]}]}}"
    return workload(
        f"apiVersion: kubeflow.org/{version}\nkind: MPIJob\nmetadata: {{name: j}}\nspec:\n"
        + "".join(f"  {line}\n" for line in spec.splitlines())
        + f"  mpiReplicaSpecs:\n    Launcher: {{{launcher}replicas: 1, template: {pod}}}\n"
        f"    Worker: {{{worker}replicas: 4, template: {gpu_pod('[/usr/sbin/sshd, -De]')}}}\n"
    )


@pytest.mark.parametrize(
    ("version", "launcher", "budget", "first", "second"),
    [
        pytest.param("v2beta1", "OnFailure", 6, ("role", 6, "f"), ("workload", 0, "en"), id="A4 v2beta1"),
        pytest.param("v1", "Never", 0, ("pod", 0, "f"), ("pod", 0, "en"), id="G4 v1"),
        pytest.param("v1alpha2", "OnFailure", 6, ("role", 6, "f"), ("workload", 0, "en"), id="0 v1alpha2"),
    ],
)
def test_mpi_defaults(version: str, launcher: str, budget: int, first: object, second: object) -> None:
    found = mpi(version)
    assert plain(role(found, "Launcher").fields["restartPolicy"]) == launcher
    assert plain(role(found, "Worker").fields["restartPolicy"]) == "Never"
    assert [layer[1:] for layer in layers(found)] == [first, second]
    assert plain(found.restart_budget) == budget
    assert (plain(found.nodes), plain(found.accelerators_per_node)) == (4, 8)


@pytest.mark.parametrize(
    ("version", "spec", "path", "expected"),
    [
        pytest.param("v2beta1", "", "spec.runPolicy.cleanPodPolicy", "None", id="A4, G3 None in the code"),
        pytest.param(
            "v2beta1", "cleanPodPolicy: Running", "spec.runPolicy.cleanPodPolicy", "None", id="0 not in v2beta1"
        ),
        pytest.param("v1", "cleanPodPolicy: Running", "spec.runPolicy.cleanPodPolicy", "Running", id="0 v1 has it"),
        pytest.param(
            "v1alpha2",
            "cleanPodPolicy: All",
            "spec.runPolicy.cleanPodPolicy",
            "All",
            id="0 v1alpha2 has it there alone",
        ),
        pytest.param(
            "v1alpha2",
            "runPolicy: {cleanPodPolicy: All}",
            "spec.runPolicy.cleanPodPolicy",
            "None",
            id="0 not in runPolicy",
        ),
        pytest.param("v2beta1", "", "spec.runPolicy.backoffLimit", "6", id="A4 backoffLimit"),
        pytest.param("v2beta1", "", "spec.launcherCreationPolicy", "AtStartup", id="A4 launcherCreationPolicy"),
        pytest.param("v2beta1", "", "spec.runLauncherAsWorker", "false", id="A4 runLauncherAsWorker"),
        pytest.param("v2beta1", "", "spec.slotsPerWorker", "1", id="A4 slotsPerWorker"),
        pytest.param("v1", "slotsPerWorker: 8", "spec.slotsPerWorker", "8", id="written"),
    ],
)
def test_mpi_fields(version: str, spec: str, path: str, expected: str) -> None:
    assert plain(mpi(version, spec=spec).fields[path]) == expected


def test_mpi_launcher_that_works_counts_as_a_node() -> None:
    found = mpi("v2beta1", spec="runLauncherAsWorker: true", launcher_pod=gpu_pod("[mpirun, python, train.py]"))
    assert plain(found.nodes) == 5


def test_mpi_operator_sets_the_dns_policy_on_the_hosts_network() -> None:  # C2
    found = mpi("v2beta1", launcher_pod=gpu_pod("[mpirun, python, train.py]", hostNetwork="true"))
    assert plain(role(found, "Launcher").pod.fields["dnsPolicy"]) == "ClusterFirstWithHostNet"
    assert plain(role(found, "Worker").pod.fields["dnsPolicy"]) == "ClusterFirst"


@pytest.mark.parametrize(("version", "program"), [("v2beta1", "sshd"), ("v1", "sleep")])
def test_workers_without_a_command_wait_for_mpirun(version: str, program: str) -> None:
    found = workload(
        f"apiVersion: kubeflow.org/{version}\nkind: MPIJob\nmetadata: {{name: j}}\nspec:\n  mpiReplicaSpecs:\n"
        "    Launcher: {template: {spec: {containers: [{name: l, image: i, command: [mpirun, python, train.py]}]}}}\n"
        "    Worker: {replicas: 2, template: {spec: {containers: [{name: w, image: i, "
        "resources: {limits: {nvidia.com/gpu: 8}}}]}}}\n"
    )
    container = main(found, "Worker")
    assert [command.name for command in container.commands] == [program]
    assert not container.entrypoint_unknown
    assert found.classified.purpose == "training"
