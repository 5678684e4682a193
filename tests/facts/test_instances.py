"""Which machine types and labels mean accelerators (k8s.md D; facts.instances)."""

from __future__ import annotations

import pytest

from kube_gaplint.facts import instances, sbatch


@pytest.mark.parametrize(
    "name",
    [
        *(
            "p5.48xlarge",
            "p4de.24xlarge",
            "p6-b200.48xlarge",
            "p3dn.24xlarge",
            "g5.48xlarge",
            "g6e.xlarge",
            "gr6.4xlarge",
        ),
        *("g4ad.xlarge", "trn1.32xlarge", "dl1.24xlarge", "Standard_ND96isr_H100_v5", "Standard_NC24ads_A100_v4"),
        *("a2-highgpu-8g", "a3-megagpu-8g", "a4x-highgpu-4g", "g2-standard-4", "ct5p-hightpu-4t", "BM.GPU.H100.8"),
        *("gd-8xh100ib-i128", "gb200-4x", "b200-8x", "gpu-h100-sxm", "gpu_8x_h100_sxm5", "ecs.gn7i-c8g1.2xlarge"),
    ],
)
def test_machines_with_accelerators(name: str) -> None:
    found = instances.machine(name)
    assert found is not None
    assert found.accelerator


@pytest.mark.parametrize(
    "name",
    [
        *("m6i.2xlarge", "c7i-flex.large", "t3.medium", "x2gd.large", "inf2.xlarge", "f1.2xlarge", "hpc7a.96xlarge"),
        *("Standard_D8s_v5", "Standard_NP10s", "n2-standard-8", "e2-medium", "c3-standard-4", "VM.Standard.E4.Flex"),
        *("cd-gp-a192-genoa",),
    ],
)
def test_machines_without(name: str) -> None:
    found = instances.machine(name)
    assert found is not None
    assert not found.accelerator


@pytest.mark.parametrize("name", ["n1-standard-8", "cx23", "", "nginx", "q9.large", "x" * 1000])
def test_unknown_machines(name: str) -> None:
    assert instances.machine(name) is None


@pytest.mark.parametrize(
    ("key", "known"),
    [
        ("nvidia.com/gpu", True),
        ("nvidia.com/gpu.present", True),
        ("nvidia.com/mig-1g.5gb", True),
        ("feature.node.kubernetes.io/pci-0302_10de.present", True),
        ("cloud.google.com/gke-accelerator", True),
        ("karpenter.k8s.aws/instance-gpu-name", True),
        ("kubernetes.io/arch", False),
        ("example.com/gpus-free", False),
    ],
)
def test_labels(key: str, known: bool) -> None:
    assert (instances.node_key(key) is not None) is known


def test_options_of_slurm() -> None:
    assert sbatch.resolve("sbatch", "ntasks-per-n") == sbatch.options("sbatch")["ntasks-per-node"]
    assert sbatch.resolve("sbatch", "nod") is None  # nodefile, nodelist, nodes
    assert sbatch.options("sbatch")["wait"].takes == "no"
    assert sbatch.options("srun")["wait"].takes == "yes"
    foreign = sbatch.belongs_elsewhere("sbatch", "kill-on-bad-exit", short=False)
    assert foreign is not None
    assert foreign.environment == ("SLURM_KILL_BAD_EXIT",)
    assert sbatch.belongs_elsewhere("sbatch", "site-plugin", short=False) is None
    for tool in ("sbatch", "srun"):
        shorts = [option.short for option in sbatch.options(tool).values() if option.short]  # type: ignore[arg-type]
        assert len(shorts) == len(set(shorts))
