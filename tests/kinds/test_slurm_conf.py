"""slurm.conf and Slurm's node sets on Kubernetes (k8s.md B1 to B4)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from node_samples import line, only, value, views

from kube_gaplint.kinds import slurm_conf
from kube_gaplint.model.slurm import HealthCheck, SlurmConf, SlurmNodeSet
from kube_gaplint.text.source import Source, WholeText

WHOLE = "ClusterName=lab\nSlurmctldHost=c0\n"


def read(text: str) -> dict[str, str]:
    return {key: value(found) for key, found in slurm_conf.read_lines(WholeText(Source("slurm.conf", text))).items()}


def conf(text: str) -> SlurmConf:
    return only(SlurmConf, site_conf=text)


def test_keys_without_case_and_the_last_one_wins() -> None:
    assert read("KillOnBadExit=0\nkillonbadexit = 1 # on\n") == {"killonbadexit": "1"}


def test_rows_of_nodes_and_partitions_are_no_settings() -> None:
    found = read("NodeName=a[1-4] Gres=gpu:8\nPartitionName=gpu Nodes=ALL MaxTime=1-0\n")
    assert found == {"nodename": "a[1-4]", "gres": "gpu:8", "partitionname": "gpu"}


def test_lines_are_joined_and_comments_cut() -> None:
    assert read("SchedulerParameters=a,\\\nb\n#WaitTime=1\nProlog=/a\\#b # c\n")["prolog"] == "/a\\#b"


def test_placeholders_are_unknown() -> None:
    assert read("WaitTime={{ wait }}\n") == {"waittime": "unknown"}


def test_a_missing_key_is_absent_from_a_whole_file_and_unknown_in_a_fragment() -> None:
    assert value(conf(WHOLE).get("HealthCheckProgram")) == "absent"
    assert value(conf("WaitTime=60\n").get("HealthCheckProgram")) == "unknown"
    assert value(conf(WHOLE + "Include other.conf\n").get("HealthCheckProgram")) == "unknown"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slurm.conf", True),
        ("slurm_base.conf", True),
        ("etc/slurm.conf", True),
        ("slurm.conf.j2", True),
        ("slurmdbd.conf", False),
        ("gres.conf", False),
        ("cgroup.conf", False),
        ("slurm.yaml", False),
    ],
)
def test_names(name: str, expected: bool) -> None:
    assert slurm_conf.is_conf_name(name) is expected


def test_config_maps_point_into_their_file() -> None:
    found = only(
        SlurmConf,
        """
apiVersion: v1
kind: ConfigMap
metadata: {name: slurm}
data:
  gres.conf: |
    Name=gpu
  slurm.conf: |
    ClusterName=a
    SlurmctldHost=b
    WaitTime=60
""",
    )
    assert found.whole
    assert line(found.get("WaitTime")) == 11


def test_slinky_appends_to_what_it_writes() -> None:
    found = only(
        SlurmConf,
        """
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: slurm}
spec:
  extraConf: |
    WaitTime=60
""",
    )
    assert (found.writer, found.whole, value(found.get("waittime"))) == ("slinky", True, "60")
    assert value(found.get("KillOnBadExit")) == "absent"


def test_soperator_writes_its_own_values_and_the_custom_text_beats_them() -> None:
    text = """
apiVersion: slurm.nebius.ai/v1
kind: SlurmCluster
metadata: {name: s}
spec:
  slurmConfig: {messageTimeout: 90, prolog: ""}
  healthCheckConfig:
    healthCheckInterval: 120
    healthCheckProgram: /hc
    healthCheckNodeState: [{state: ANY}]
"""
    found = only(SlurmConf, text)
    assert value(found.get("KillOnBadExit")) == "1"
    assert found.get("KillOnBadExit").origin.via == "injected"  # type: ignore[union-attr]
    assert value(found.get("MessageTimeout")) == "90"
    assert value(found.get("Prolog")) == "absent"
    assert value(found.get("HealthCheckProgram")) == "/hc"
    custom = only(SlurmConf, text + "  customSlurmConfig: |\n    KillOnBadExit=0\n")
    assert value(custom.get("KillOnBadExit")) == "0"


def test_a_templated_custom_text_leaves_the_rest_unknown() -> None:
    found = only(
        SlurmConf,
        "apiVersion: slurm.nebius.ai/v1\nkind: SlurmCluster\nmetadata: {name: s}\n"
        "spec: {customSlurmConfig: '{{ .Values.custom }}'}\n",
    )
    assert not found.whole


def test_slinky_node_sets_have_defaults() -> None:
    found = only(
        SlurmNodeSet,
        """
apiVersion: slinky.slurm.net/v1beta1
kind: NodeSet
metadata: {name: gpu}
spec:
  slurmd: {resources: {limits: {nvidia.com/gpu: 8}}}
""",
    )
    assert (value(found.strategy), value(found.max_unavailable), value(found.protected)) == (
        "RollingUpdate",
        "25%",
        True,
    )
    assert found.gpus.answer == "yes"


def test_soperator_node_sets_protect_jobs_only_when_they_roll_with_slurm() -> None:
    text = "apiVersion: slurm.nebius.ai/v1alpha1\nkind: NodeSet\nmetadata: {name: w}\nspec: {replicas: 4%s}\n"
    plain = only(SlurmNodeSet, text % "")
    assert (value(plain.strategy), value(plain.max_unavailable), value(plain.protected)) == (
        "rollingUpdate",
        "500",
        False,
    )
    aware = only(SlurmNodeSet, text % ", updateStrategy: slurmAwareRollingUpdate")
    assert value(aware.protected) is True


def test_active_checks_do_nothing_by_default() -> None:
    text = "apiVersion: slurm.nebius.ai/v1alpha1\nkind: ActiveCheck\nmetadata: {name: c}\nspec: {checkType: k8sJob%s}\n"
    found = only(HealthCheck, text % "")
    assert (value(found.suspended), value(found.schedule), value(found.reacts)) == (True, "0 0 1 1 *", "absent")
    drains = only(HealthCheck, text % ", failureReactions: {drainSlurmNode: {drainReasonPrefix: x}}")
    assert value(drains.reacts) == "drainSlurmNode"


def test_helm_values_of_slinky_and_soperator() -> None:
    slinky = """
controller:
  extraConfMap: {KillOnBadExit: 1}
nodesets:
  gpu:
    slurmd: {resources: {limits: {nvidia.com/gpu: 8}}}
  off: {enabled: false}
"""
    assert value(only(SlurmConf, slinky).get("killonbadexit")) == "1"
    assert [found.subject.container for found in views(SlurmNodeSet, slinky)] == ["gpu"]
    soperator = "clusterName: a\nslurmNodes: {}\ncustomSlurmConfig: |\n  JobRequeue=0\n"
    assert value(only(SlurmConf, soperator).get("jobrequeue")) == "0"


@given(st.lists(st.sampled_from(["A=1", "\\\n", "#", "Include x", "=", "NodeName=a b=c", "\n", "é", " "]), max_size=30))
def test_any_text_is_read(pieces: list[str]) -> None:
    text = "".join(pieces)
    for found in slurm_conf.read_lines(WholeText(Source("slurm.conf", text))).values():
        assert found.origin is not None
        span = found.origin.place.span
        assert 0 <= span.start <= span.end <= len(text)


def test_the_soperator_chart_brings_a_health_check_of_its_own() -> None:
    found = only(SlurmConf, "slurmNodes: {login: {size: 1}}\nslurmConfig: {messageTimeout: 60}\n")
    assert value(found.get("healthcheckinterval")) == "120"
