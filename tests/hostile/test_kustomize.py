"""Kustomizations and references that mean harm: rings, growth without end, paths that lead out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from running import JOB_CODES, job, lint

Files = dict[str, str]


class Row(NamedTuple):
    """Files of a folder, and what must come out of it."""

    name: str
    make: Callable[[], Files]
    code: str = ""
    word: str = ""
    job: bool = True
    """Whether the job is judged all the same."""


def built(kustomization: str, **more: str) -> Files:
    return {
        "kustomization.yaml": kustomization,
        "job.yaml": job(),
        **{name.replace("_", "."): text for name, text in more.items()},
    }


def doubling(levels: int) -> Files:
    files = {"l0/kustomization.yaml": "resources: [job.yaml]\n", "l0/job.yaml": job()}
    for level in range(1, levels + 1):
        for side in "ab":
            below = ["../../l0"] if level == 1 else [f"../../l{level - 1}/a", f"../../l{level - 1}/b"]
            files[f"l{level}/{side}/kustomization.yaml"] = f"resources: {below}\nnamePrefix: {side}-\n".replace("'", "")
    return files


def patched(patch: str) -> Files:
    return built("resources: [job.yaml]\npatches: [{target: {kind: Job}, path: p.yaml}]\n", p_yaml=patch)


def replaced(fields: str, source: str = "metadata.name") -> Files:
    return built(
        f"resources: [job.yaml]\nreplacements:\n- source: {{kind: Job, fieldPath: {source}}}\n  targets:\n"
        f"  - select: {{kind: Job}}\n    fieldPaths: [{fields}]\n    options: {{create: true}}\n"
    )


SELECTOR = "(" * 12 + "a+" + ")+" * 12

ROWS = [
    Row("itself", lambda: built("resources: [., job.yaml]\n"), "GAP002", "ring"),
    Row("a-ring-of-two", lambda: {"a/kustomization.yaml": "resources: [../b, job.yaml]\n", "a/job.yaml": job(), "b/kustomization.yaml": "resources: [../a]\n"}, "GAP002", "ring"),
    Row("a-ring-of-components", lambda: {"a/kustomization.yaml": "resources: [job.yaml]\ncomponents: [../b]\n", "a/job.yaml": job(), "b/kustomization.yaml": "kind: Component\napiVersion: kustomize.config.k8s.io/v1alpha1\ncomponents: [../a, ../b]\n"}, "GAP002", "ring"),
    Row("bases-that-double", lambda: doubling(40), "GAP002", "build holds more than", job=False),
    Row("a-patch-that-copies-itself", lambda: patched("".join(f"- {{op: copy, from: /spec, path: /spec/x{n}}}\n" for n in range(60))), "GAP002", "build holds more than", job=False),
    Row("a-patch-that-nests", lambda: patched("- {op: copy, from: /spec, path: /spec/x}\n" + "".join(f"- {{op: move, from: /spec, path: {'/x' * n or '/spec'}}}\n" for n in range(1, 120))), job=False),
    Row("a-deep-patch", lambda: patched("spec:\n" + "".join(f"{'  ' * n}a:\n" for n in range(1, 190)) + "  " * 190 + "b: c\n")),
    Row("100000-operations", lambda: patched("- {op: add, path: /metadata/labels, value: {}}\n" + "- {op: add, path: /metadata/labels/a, value: b}\n" * 30_000)),
    Row("no-operations-at-all", lambda: patched("- 1\n- [2]\n- {op: remove, path: ''}\n")),
    Row("6000-generated-objects", lambda: built("resources: [job.yaml]\n" + "configMapGenerator:\n" + "".join(f"- {{name: c{n}, literals: [A=b]}}\n" for n in range(6_000))), "GAP002", "objects", job=False),
    Row("patches-times-objects", lambda: built("resources: [job.yaml, many.yaml]\npatches:\n" + "- {target: {kind: Config.*, name: c1.*x}, patch: 'metadata: {name: x, labels: {a: b}}'}\n" * 1_000, many_yaml="".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n" for n in range(4_000))), "GAP002", "look at more than", job=False),
    Row("20000-missing-resources", lambda: built("resources:\n- job.yaml\n" + "".join(f"- none{n}.yaml\n" for n in range(20_000))), "GAP002", "look at more than", job=False),
    Row("20000-patches", lambda: built("resources: [job.yaml]\npatches:\n" + "- {target: {kind: Job}, patch: 'metadata: {name: x, labels: {a: b}}'}\n" * 4_000)),
    Row("20000-labels", lambda: built("resources: [job.yaml]\ncommonLabels:\n" + "".join(f"  a{n}: b\n" for n in range(20_000)))),
    Row("20000-images", lambda: built("resources: [job.yaml]\nimages:\n" + "".join(f"- {{name: i{n}, newTag: x}}\n" for n in range(20_000)))),
    Row("a-selector-that-backtracks", lambda: built(f"resources: [job.yaml]\npatches: [{{target: {{kind: Job, name: '{SELECTOR}$'}}, patch: 'metadata: {{name: x}}'}}]\n").__or__({"job.yaml": job(name="a" * 60 + "-")})),
    Row("a-selector-of-brackets", lambda: built("resources: [job.yaml]\npatches: [{target: {kind: '" + "(" * 500 + "'}, patch: 'metadata: {name: x}'}]\n")),
    Row("replacements-that-grow", lambda: replaced(", ".join(f"metadata.annotations.a{n}" for n in range(3_000)), "spec")),
    Row("a-replacement-of-odd-paths", lambda: replaced("'[[[', 'a.[b=.c', '..', '*.*.*.*.*.*', 'spec.-', '\"\"', 'spec.999999999999999999999'")),
    Row("variables-in-a-ring", lambda: built("resources: [job.yaml]\nvars:\n- {name: A, objref: {kind: Job, name: train, apiVersion: batch/v1}, fieldref: {fieldpath: metadata.annotations.b}}\n", job_yaml=job().replace("  name: train\n", "  name: train\n  annotations: {b: $(A)}\n"))),
    Row("paths-that-lead-out", lambda: built("resources: [job.yaml, /etc/passwd, ../../../../../../etc/passwd, '~/.ssh', 'file:///etc/passwd']\nconfigMapGenerator:\n- {name: c, files: [/etc/shadow, ../../../../../../etc/hostname], envs: [/proc/self/environ]}\npatches: [{path: /dev/zero}, {path: ../../../../../../etc/hostname}]\n")),
    Row("a-base-far-away", lambda: built("resources: [job.yaml, 'https://example.invalid/x', 'git::ssh://example.invalid/x?ref=y', 'github.com/a/b']\n")),
    Row("plugins-and-charts", lambda: built("resources: [job.yaml]\ntransformers: [t.yaml]\ngenerators: [t.yaml]\nhelmCharts: [{name: x, repo: 'https://example.invalid'}]\nopenapi: {path: /etc/passwd}\n", t_yaml="apiVersion: example.com/v1\nkind: Exec\nmetadata: {name: t, annotations: {config.kubernetes.io/function: 'exec: {path: ./owned.sh}'}}\n"), job=False),
    Row("names-without-end", lambda: built(f"resources: [job.yaml]\nnamePrefix: {'x' * 1_000_000}\nnamespace: {'y' * 1_000_000}\n")),
    Row("a-kustomization-of-aliases", lambda: built("resources: &r [job.yaml]\nbases: *r\ncomponents: *r\npatches: *r\nx: &x [*r, *r]\ny: [*x, *x]\n")),
    Row("a-kustomization-that-is-no-yaml", lambda: built("resources: [job.yaml\n# gpu\n"), "GAP001"),
    Row("a-kustomization-of-odd-shapes", lambda: built("resources: {a: b}\npatches: 1\nimages: [1, [2], {name: [x]}]\nreplicas: [{name: train, count: x}]\nlabels: [1]\nvars: [a]\nconfigMapGenerator: [{name: [a], literals: {b: c}}]\ncommonLabels: [a]\nnamePrefix: {a: b}\nreplacements: [{source: 1, targets: {}}]\n")),
]  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_kustomization_that_means_harm(row: Row, tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    for name, text in row.make().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    before = sorted(tmp_path.rglob("*"))
    found = lint(".", folder=folder)
    assert sorted(tmp_path.rglob("*")) == before, "something was run or written"
    if row.code:
        assert any(row.word in message for message in found.messages(row.code)), found.report["findings"][:3]
    if row.job:
        assert set(found.codes) >= JOB_CODES
    secret = Path("/etc/hostname").read_text().strip() if Path("/etc/hostname").exists() else "root:x:"
    assert not secret or secret not in found.text
    assert "root:x:" not in found.text


def trainjob(name: str, runtime: str, kind: str = "TrainingRuntime") -> str:
    return (
        f"apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainJob\nmetadata: {{name: {name}}}\nspec:\n"
        f"  runtimeRef: {{apiGroup: trainer.kubeflow.org, kind: {kind}, name: {runtime}}}\n"
        "  trainer: {numNodes: 2, command: [torchrun, train.py]}\n"
    )


RUNTIME = (
    "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nmetadata: {name: r}\nspec:\n"
    "  runtimeRef: {kind: TrainingRuntime, name: r}\n  template: {spec: {replicatedJobs: [{name: node, template: {spec: "
    "{template: {spec: {containers: [{name: node, image: x}]}}}}}]}}\n"
)

VARIABLES = "          env:\n"
REFERENCES = [
    Row("a-runtime-that-is-the-job", lambda: {"a.yaml": trainjob("a", "a", "TrainJob")}, job=False),
    Row("runtimes-in-a-ring", lambda: {"a.yaml": trainjob("a", "r") + "---\n" + RUNTIME}, job=False),
    Row("variables-in-a-ring", lambda: {"a.yaml": job(container=VARIABLES + "            - {name: A, value: $(B)}\n            - {name: B, value: $(A)}\n")}),
    Row("variables-that-double", lambda: {"a.yaml": job(container=VARIABLES + "            - {name: A0, value: xxxxxxxx}\n" + "".join(f"            - {{name: A{n}, value: $(A{n - 1})$(A{n - 1})}}\n" for n in range(1, 60)))}),
    Row("10000-variables", lambda: {"a.yaml": job(container=VARIABLES + "".join(f"            - {{name: A{n}, value: $(A{n - 1})x}}\n" for n in range(10_000)))}),
    Row("config-maps-that-differ", lambda: {"a.yaml": job(container="          envFrom: [{configMapRef: {name: c}}]\n"), **{f"c{n}.yaml": f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata: {{A: '{n}'}}\n" for n in range(300)}}, job=False),
    Row("5000-config-maps", lambda: {"a.yaml": job(container="          envFrom:\n" + "".join(f"          - configMapRef: {{name: c{n}}}\n" for n in range(3_000))), "c.yaml": "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\ndata: {{A{n}: b}}\n" for n in range(3_000))}),
    Row("a-script-in-a-config-map-that-runs-itself", lambda: {"a.yaml": job(script="bash /scripts/run.sh").replace("          command: [bash, -c]", "          volumeMounts: [{name: s, mountPath: /scripts}]\n          command: [bash, -c]").replace("      restartPolicy: Never", "      restartPolicy: Never\n      volumes: [{name: s, configMap: {name: s}}]") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: s}\ndata:\n  run.sh: |\n    source /scripts/run.sh\n    bash /scripts/run.sh; bash /scripts/other.sh\n  other.sh: |\n    bash /scripts/run.sh; bash /scripts/run.sh\n"}),
    Row("yaml-in-yaml-in-yaml", lambda: {"a.yaml": nested_yaml(30) + "---\n" + job()}),
    Row("a-gzip-bomb", lambda: {"a.yaml": user_data() + "---\n" + job()}),
]  # fmt: skip


def nested_yaml(levels: int) -> str:
    """A Workflow whose manifest holds a Workflow, and so on."""
    text = job()
    for _ in range(levels):
        body = "\n".join(f"          {line}" for line in text.splitlines())
        text = f"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {{name: w}}\nspec:\n  templates:\n    - name: t\n      resource:\n        action: create\n        manifest: |\n{body}\n"
    return text


def user_data() -> str:
    """100 MB of cloud-config, compressed a thousand times."""
    import base64
    import gzip

    packed = base64.b64encode(gzip.compress(b"#cloud-config\n" + b"# x\n" * 25_000_000)).decode()
    return (
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata: {name: gpu}\nspec:\n"
        f"  amiFamily: Custom\n  userData: {packed}\n"
    )


@pytest.mark.parametrize("row", REFERENCES, ids=[row.name for row in REFERENCES])
def test_references_that_mean_harm(row: Row, tmp_path: Path) -> None:
    for name, text in row.make().items():
        (tmp_path / name).write_text(text)
    found = lint(".", folder=tmp_path)
    if row.code:
        assert any(row.word in message for message in found.messages(row.code)), found.report["findings"][:3]
    if row.job:
        assert set(found.codes) >= JOB_CODES
