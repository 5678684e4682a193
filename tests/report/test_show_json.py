"""`gaplint show --format json`: its schema, and that it says what the model says."""

from __future__ import annotations

import json
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from msgspec import Struct
from show_samples import SAMPLES, sample, understood

from kube_gaplint.findings import FileError, Summary
from kube_gaplint.model.nodes import CarriesGpus, NodePool
from kube_gaplint.model.setting import Absent, Origin, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.report.show import plain, shape
from kube_gaplint.report.show.gather import Choice, gather
from kube_gaplint.report.show.views import TELLERS
from kube_gaplint.text.source import Place, Source, Span

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import show_schema

SCHEMA: dict[str, Any] = json.loads(files("kube_gaplint.report.show").joinpath("show.schema.json").read_text("utf-8"))


def data_of(shown: shape.Shown) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(plain.render(shown))
    jsonschema.Draft202012Validator(SCHEMA).validate(found)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_json_follows_the_schema(name: str, tmp_path: Path) -> None:
    text = plain.render(sample(tmp_path, name))
    assert text.isascii()
    data_of(sample(tmp_path, name))


def test_the_schema_is_the_one_of_the_classes() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert show_schema.schema() == SCHEMA, "tools/show_schema.py writes it anew"
    for one in (*vars(shape).values(),):
        if isinstance(one, type) and issubclass(one, Struct) and one not in (Struct, shape.Shown):
            names = {plain.camel(name) for name in one.__struct_fields__}
            assert set(SCHEMA["$defs"][one.__name__]["properties"]) == names


@pytest.mark.parametrize(
    "wrong",
    [
        {"state": "set"},
        {"state": "unknown"},
        {"state": "absent", "value": 1},
        {"state": "set", "value": 1, "hidden": True},
        {"state": "perhaps", "value": 1},
        {"state": "set", "value": 1, "location": {"file": "x"}},
    ],
)
def test_the_schema_refuses_what_it_should(wrong: dict[str, Any], tmp_path: Path) -> None:
    data = data_of(sample(tmp_path, "jobset"))
    data["workloads"][0]["nodes"] = wrong
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_a_pytorch_job(tmp_path: Path) -> None:
    data = data_of(sample(tmp_path, "pytorchjob"))
    assert [*data] == [
        "version", "tool", "workloads", "views", "unresolved", "problems", "errors", "summary",
    ]  # fmt: skip
    (job,) = data["workloads"]
    assert job["object"] == {
        "kind": "PyTorchJob", "apiVersion": "kubeflow.org/v1", "namespace": "research", "name": "lm-pretrain",
    }  # fmt: skip
    assert job["location"]["line"] == 8
    assert job["purpose"] == "training"
    assert job["worldSize"]["value"] == 32
    assert job["restartBudget"]["value"] == 27
    assert [(layer["owner"], layer["scope"], layer["budget"]["value"]) for layer in job["restarts"]] == [
        ("training operator", "pod", 6),
        ("torchrun", "process", 3),
    ]
    assert job["restarts"][0]["on"] == ["failure", "eviction", "node-loss"]
    assert job["deadlineSeconds"]["value"] == 172800
    master, worker = job["roles"]
    assert (master["replicas"]["value"], worker["replicas"]["value"]) == (1, 3)
    (container,) = master["containers"]
    variables = {one["name"]: one["value"] for one in container["environment"]["variables"]}
    assert variables["NCCL_IB_TIMEOUT"]["value"] == "22"
    assert [step["note"] for step in variables["NCCL_IB_TIMEOUT"]["through"]] == ["envFrom ConfigMap nccl-env"]
    assert variables["PET_NNODES"]["via"] == "injected"
    assert variables["HF_TOKEN"] == {
        "state": "set", "hidden": True, "via": "written", "location": variables["HF_TOKEN"]["location"],
    }  # fmt: skip
    assert variables["WANDB_API_KEY"]["state"] == "unknown"
    (process,) = container["processes"]
    assert process["program"] == "pretrain_gpt.py"
    assert [launcher["kind"] for launcher in process["launchers"]] == ["torchrun"]
    assert process["framework"]["name"] == "megatron"
    assert (process["torch"]["value"], process["nccl"]["value"]) == ("2.4", "2.21.5")
    checkpoints = process["checkpoints"]
    assert checkpoints["interval"]["value"] == {"amount": 500, "unit": "steps"}
    assert checkpoints["path"]["value"] == "/ckpt/lm"
    storage = checkpoints["storage"]
    assert (storage["state"], storage["volume"], storage["mount"]["value"]) == ("kept", "ckpt", "/ckpt")
    assert process["timeoutSeconds"]["state"] == "unknown", "$EXTRA may hold the option"
    assert [one["name"] for one in process["options"]] == [
        "train-iters", "save", "load", "save-interval", "micro-batch-size",
    ]  # fmt: skip
    assert job["unresolved"][0]["what"] == "PersistentVolumeClaim ckpt-lm"


def test_nothing_secret_is_in_it(tmp_path: Path) -> None:
    text = plain.render(
        understood(
            tmp_path,
            "j.yaml",
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x}\nspec:\n  template:\n    spec:\n"
            "      restartPolicy: Never\n      containers:\n        - name: c\n          image: pytorch/pytorch:2.3.1\n"
            "          env: [{name: MY_API_KEY, value: s3cr3t-one}]\n"
            "          command: [sh, -c, 'export HF_TOKEN=s3cr3t-two; python train.py --api-key s3cr3t-three"
            " --password=s3cr3t-four --data https://me:s3cr3t-five@example.org/']\n"
            "          resources: {limits: {nvidia.com/gpu: 8}}\n",
        )
    )
    assert "s3cr3t" not in text
    assert '"hidden": true' in text


def test_a_batch_script(tmp_path: Path) -> None:
    (job,) = data_of(sample(tmp_path, "batch-script"))["workloads"]
    batch = job["batch"]
    late = batch["directives"][-1]
    assert (late["name"], late["inForce"]) == ("mem", False)
    assert "after the first command" in late["problem"]
    assert [step["trains"] for step in batch["steps"]] == [False, True]
    assert batch["steps"][1]["killOnBadExit"]["value"] == "1"
    assert batch["requeue"]["value"] is True
    assert job["restarts"][0]["budget"]["value"] == "unbounded"


def test_a_node_pool(tmp_path: Path) -> None:
    data = data_of(sample(tmp_path, "nodepool"))
    assert data["workloads"] == []
    assert [view["type"] for view in data["views"]] == ["NodeBootstrap", "NodePool"]
    pool = data["views"][1]
    facts = {one["name"]: one["value"].get("value") for one in pool["facts"]}
    assert facts["carriesGpus"] is True
    assert facts["expireAfter"] == "336h"
    assert [item["what"] for item in pool["items"]] == [
        "image by alias al2023@latest: changes by itself",
        "disruption budget 0 for Drifted at 0 8 * * 1-5 for 10h",
    ]


def test_numbers_that_json_cannot_hold() -> None:
    from kube_gaplint.report.show.values import number

    assert (number(2.0), number(2.5), number(float("inf")), number(1e300)) == (2, 2.5, "inf", 1e300)


# Choosing


@pytest.mark.parametrize(
    ("choice", "found"),
    [
        (Choice(), 2),
        (Choice(kinds=("nodepool",)), 1),
        (Choice(kinds=("EC2NodeClass", "Job")), 1),
        (Choice(kinds=("NodeBootstrap",)), 1),
        (Choice(names=("h*",)), 2),
        (Choice(names=("H100",)), 0),
        (Choice(kinds=("NodePool",), names=("other", "h10?")), 1),
    ],
)
def test_kinds_and_names(choice: Choice, found: int, tmp_path: Path) -> None:
    data = data_of(sample(tmp_path, "nodepool", choice))
    assert len(data["views"]) == found
    assert data["summary"]["matched"] == found
    assert data["summary"]["views"] == 2


def test_a_namespace_before_the_name(tmp_path: Path) -> None:
    assert sample(tmp_path, "pytorchjob", Choice(names=("research/lm-*",))).summary.matched == 1
    assert sample(tmp_path, "pytorchjob", Choice(names=("other/lm-*",))).summary.matched == 0


# What belongs nowhere, and views of every type


def test_problems_errors_and_references_of_nothing(tmp_path: Path) -> None:
    shown = understood(tmp_path, "x.yaml", "kind: Job\n\tspec: 1\n")
    assert [one.kind for one in shown.problems] == ["syntax"]
    found = data_of(gather([], errors=[FileError("a\udcff.yaml", "gone")], summary=Summary(files=1)))
    assert found["errors"] == [{"file": "a\\xff.yaml", "reason": "gone"}]
    assert found["summary"]["files"] == 1


def views_that_rules_use() -> set[str]:
    """Types with a subject and a place in the modules of the model: what rules may speak of."""
    import pkgutil
    from importlib import import_module

    from kube_gaplint import model

    modules = [import_module(f"kube_gaplint.model.{one.name}") for one in pkgutil.iter_modules(model.__path__)]

    return {
        name
        for module in modules
        for name, one in vars(module).items()
        if isinstance(one, type)
        and one.__module__ == module.__name__
        and issubclass(one, Struct)
        and {"subject", "origin"} <= set(one.__struct_fields__)
        and hasattr(one, "object_origin")
    }


def test_every_view_has_its_facts() -> None:
    within_workloads = {"Workload", "TrainingProcess", "Batch"}
    assert views_that_rules_use() - within_workloads == {kind.__name__ for kind in TELLERS}


def test_a_runtime_is_no_workload_and_a_workload_no_second_object(tmp_path: Path) -> None:
    runtime = (
        "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: house}\n"
        "spec: {template: {spec: {replicatedJobs: [{name: node, template: {spec: {template: {spec: {containers: "
        "[{name: node, image: pytorch/pytorch:2.3.1, resources: {limits: {nvidia.com/gpu: 8}}}]}}}}}]}}}\n"
    )
    data = data_of(understood(tmp_path, "runtime.yaml", runtime))
    assert [(view["type"], view["object"]["name"]) for view in data["views"]] == [("Manifest", "house")]
    assert data_of(sample(tmp_path, "jobset"))["views"] == []


class Novelty(Struct):
    subject: Subject
    object_origin: Origin


def test_a_view_that_nobody_told_of_appears_by_name() -> None:
    origin = Origin(Place(Source("x.yaml", "a: 1"), Span(0, 4)))
    (view,) = data_of(gather([Novelty(Subject("Thing", name="n"), origin)], summary=Summary()))["views"]
    assert (view["type"], view["object"]["name"], view["facts"]) == ("Novelty", "n", [])


def test_unknown_and_absent_facts_of_a_pool() -> None:
    origin = Origin(Place(Source("x.yaml", "a: 1"), Span(0, 4)))
    pool = NodePool(
        Subject("NodePool", name="n"), origin, CarriesGpus("unknown", "any instance type", origin), (), Absent(origin),
        fields={"expireAfter": Unknown("a Helm expression", origin)},
    )  # fmt: skip
    (view,) = data_of(gather([pool], summary=Summary()))["views"]
    facts = {one["name"]: one["value"] for one in view["facts"]}
    assert facts["carriesGpus"]["reason"] == "any instance type"
    assert facts["expireAfter"]["reason"] == "a Helm expression"
    assert "os" not in facts
