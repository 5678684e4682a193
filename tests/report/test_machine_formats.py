"""json, jsonl, github, concise: what programs read."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema
import pytest
from report_samples import JOB, finding, incident, origin, sample_report

from kube_gaplint.findings import Report, Severity
from kube_gaplint.report import FORMATS, render
from kube_gaplint.report.options import RenderOptions
from kube_gaplint.text.source import Source

OPTIONS = RenderOptions(width=80, incident=incident)
SCHEMA = json.loads(files("kube_gaplint.report").joinpath("schema.json").read_text())


def test_json_follows_the_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for report in (Report(), sample_report()):
        jsonschema.validate(json.loads(render("json", report, OPTIONS)), SCHEMA)


def test_the_schema_refuses_what_it_should() -> None:
    data = json.loads(render("json", sample_report(), OPTIONS))
    data["findings"][0]["location"]["line"] = 0
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, SCHEMA)


def test_json_content() -> None:
    data = json.loads(render("json", sample_report(), OPTIONS))
    assert [*data] == ["version", "tool", "findings", "errors", "summary"]
    first, second, third = data["findings"]
    assert [*first] == [
        "code", "name", "severity", "message", "consequence", "object", "alsoFor", "location", "related", "evidence",
        "fixable", "fix", "fingerprint", "suppressed",
    ]  # fmt: skip
    assert first["location"] == {"file": "train/llama.yaml", "line": 19, "column": 26, "endLine": 19, "endColumn": 29}
    assert first["object"] == {
        "kind": "PyTorchJob",
        "apiVersion": "kubeflow.org/v1",
        "namespace": "research",
        "name": "llama-70b",
        "container": "pytorch",
    }
    assert first["alsoFor"] == []
    assert first["fixable"] == "safe"
    assert second["suppressed"]["reason"] == "restarted by hand"
    assert [(item["note"], item["location"]["file"]) for item in third["related"]] == [
        ("the run's length", "train/scripts.yaml"),
        ("the container runs it from here", "train/llama.yaml"),
    ]
    assert data["errors"] == [{"file": "train/secret.yaml", "reason": "permission denied"}]
    assert data["summary"]["findings"] == {"error": 1, "warning": 1, "info": 0}
    assert data["summary"]["skipped"] == {"binary": 3, "not relevant": 1204}


def test_jsonl_has_the_findings_of_json() -> None:
    lines = render("jsonl", sample_report(), OPTIONS).splitlines()
    assert [json.loads(line) for line in lines] == json.loads(render("json", sample_report(), OPTIONS))["findings"]


def test_undecodable_path_is_valid_json() -> None:
    report = Report(findings=[finding(origin(Source("caf\udce9.yaml", "a: 1\n"), "1"))])
    data = json.loads(render("json", report, OPTIONS))
    assert data["findings"][0]["location"]["file"] == "caf\\xe9.yaml"


def test_github() -> None:
    report = Report(
        findings=[
            finding(origin(Source("a,b:c.yaml", JOB), '"0"'), message="50 % lost\nsecond", consequence="", evidence=()),
            finding(
                origin(Source("x.yaml", "a:\n  b: 1\n"), "a:\n  b: 1"),
                severity=Severity.INFO, message="m", consequence="c", fix=None,
            ),
        ]
    )  # fmt: skip
    assert render("github", report, OPTIONS).splitlines() == [
        "::error file=a%2Cb%3Ac.yaml,line=19,endLine=19,col=26,endColumn=29,title=NCCL001 async-error-handling::"
        "50 %25 lost\\nsecond%0AFix: Set TORCH_NCCL_ASYNC_ERROR_HANDLING to 1"
        "%0AIn PyTorchJob research/llama-70b, container pytorch",
        "::notice file=x.yaml,line=1,endLine=2,title=NCCL001 async-error-handling::m%0Ac%0A"
        "Incident: BLOOM: a GPU dies, the job stays in limbo and nothing restarts it (BigScience, 2022) "
        "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md"
        "%0AIn PyTorchJob research/llama-70b, container pytorch",
    ]


def test_concise() -> None:
    lines = render("concise", sample_report(), OPTIONS).splitlines()
    assert lines[:3] == [
        "train/llama.yaml:19:26: error: TORCH_NCCL_ASYNC_ERROR_HANDLING is 0: when one rank dies, the other 127 wait"
        " in a collective for ever [NCCL001 async-error-handling]",
        "train/scripts.yaml:11:7: warning: a checkpoint every 25,000 steps is one in 20.3 hours; the optimum for"
        " 16 nodes is 2.7 hours [CKPT003 checkpoint-interval-long]",
        "train/secret.yaml: could not be read: permission denied",
    ]
    assert lines[3] == "1 error, 1 warning in 1 workload, 2 files."


def test_unknown_format() -> None:
    with pytest.raises(KeyError):
        render("escape", Report(), OPTIONS)


@pytest.mark.parametrize("name", FORMATS)
def test_same_report_same_bytes(name: str) -> None:
    assert render(name, sample_report(), OPTIONS) == render(name, sample_report(), OPTIONS)
