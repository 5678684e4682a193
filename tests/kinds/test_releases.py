"""Charts with their values in objects of Flux, Argo CD and K3s (k8s.md D "GPU Operator", "kured", B1)."""

from __future__ import annotations

import pytest
from node_samples import all_views, only, value

from kube_gaplint.model.nodes import DriverUpgrade, UpgradeAgent
from kube_gaplint.model.slurm import SlurmConf

FLUX = "apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: r}\nspec: {%s}\n"
ARGO = "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: r}\nspec:\n%s\n"


@pytest.mark.parametrize(
    ("spec", "automatic"),
    [
        ("chart: {spec: {chart: gpu-operator}}", True),  # the chart's default
        ("chart: {spec: {chart: gpu-operator}}, values: {driver: {upgradePolicy: {autoUpgrade: false}}}", False),
    ],
)
def test_flux(spec: str, automatic: bool) -> None:
    assert value(only(DriverUpgrade, FLUX % spec).automatic) is automatic


@pytest.mark.parametrize(
    "spec",
    [
        "chart: {spec: {chart: gpu-operator}}, valuesFrom: [{kind: ConfigMap, name: more}]",
        "chart: {spec: {chart: postgresql}}, values: {driver: {enabled: true}}",
        "chart: {spec: {chart: gpu-operator}}, values: [a]",
        "chart: {spec: {chart: gpu-operator}}, values: '{{ values }}'",
        "",
    ],
)
def test_what_is_not_seen_or_known_gives_nothing(spec: str) -> None:
    assert all_views(FLUX % spec) == []


def test_argo_with_text() -> None:
    text = ARGO % (
        "  source:\n    chart: gpu-operator\n    helm:\n      values: |\n        driver:\n"
        "          upgradePolicy:\n            autoUpgrade: true\n"
    )
    found = only(DriverUpgrade, text)
    assert value(found.automatic) is True
    assert found.origin.place.start.line == 11, "in the text inside"


def test_argo_with_an_object_among_several_sources() -> None:
    text = ARGO % (
        "  sources:\n  - repoURL: x\n  - chart: kured\n    helm:\n      valuesObject: {configuration: {period: 1h}}"
    )
    assert only(UpgradeAgent, text).kind == "kured"


def test_k3s_with_text_in_text() -> None:
    text = (
        "apiVersion: helm.cattle.io/v1\nkind: HelmChart\nmetadata: {name: s}\nspec:\n  chart: slurm\n"
        "  valuesContent: |-\n    controller:\n      extraConf: |\n        JobRequeue=0\n"
    )
    found = only(SlurmConf, text)
    assert value(found.get("JobRequeue")) == "0"
    assert found.values["jobrequeue"].origin.place.start.line == 9  # type: ignore[union-attr]


def test_an_umbrella_chart() -> None:
    text = FLUX % "chart: {spec: {chart: platform}}, values: {kured: {configuration: {period: 1h}}, web: {replicas: 2}}"
    assert [type(view) for view in all_views(text)] == [UpgradeAgent]
