# ruff: noqa: E501
# Whole folders stand in these tables, a file a line.
"""Kustomize builds: the same objects as kubectl, every value at the line that wrote it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kube_gaplint.bundle.bundle import Bundle, Loaded, load
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.bundle.plain import plain
from kube_gaplint.discover import discover
from kube_gaplint.kinds.fields import Part
from kube_gaplint.model.setting import Absent, Set, Unknown
from kube_gaplint.text import limits
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Node, dig, scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Position, Source

KUBECTL = shutil.which("kubectl")
Files = dict[str, str]


def write(root: Path, files: dict[str, str | bytes] | Files) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def built(*paths: str) -> Loaded:
    return load(discover(paths or (".",)))


def _key(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def data_of(objects: list[KubeObject]) -> list[Any]:
    return sorted((plain(kube.node) for kube in objects), key=_key)


def expected(folder: Path) -> list[Any]:
    """What kubectl makes of a folder."""
    if KUBECTL is None:
        pytest.skip("kubectl is not installed")
    run = subprocess.run([KUBECTL, "kustomize", str(folder)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    documents = compose(Source("kubectl", run.stdout)).documents
    return sorted((plain(document.root) for document in documents), key=_key)


def at(bundle: Bundle, kind: str, *path: str | int) -> Node:
    """A node of the only object of a kind."""
    (kube,) = bundle.by_kind(None, kind)
    found = dig(kube.node, *path)
    assert found is not None
    return found


def where(node: Node) -> str:
    return f"{node.source.path}:{node.place.start.line}"


JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
  labels: {team: a}
spec:
  backoffLimit: 0
  template:
    metadata:
      labels: {app: train}
    spec:
      restartPolicy: Never
      priorityClassName: high
      containers:
      - name: main
        image: registry.io/torch:2.3
        command: [python, train.py]
        args: ["--epochs=3"]
        env:
        - name: NCCL_DEBUG
          value: INFO
        - name: TOKEN
          valueFrom: {secretKeyRef: {name: hub, key: token}}
        envFrom:
        - configMapRef: {name: nccl}
        ports:
        - {containerPort: 29500}
        - {containerPort: 9000, protocol: UDP}
        volumeMounts:
        - {name: data, mountPath: /data}
        - {name: cfg, mountPath: /cfg}
      - name: sidecar
        image: busybox
      tolerations:
      - {key: gpu, operator: Exists}
      volumes:
      - name: data
        persistentVolumeClaim: {claimName: data}
      - name: cfg
        configMap: {name: nccl}
"""
PYTORCH = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: torch
spec:
  nprocPerNode: "8"
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.io/torch:2.3
            env:
            - {name: A, value: a}
            - {name: B, value: b}
    Worker:
      replicas: 3
      template:
        spec:
          containers:
          - name: pytorch
            image: registry.io/torch:2.3
"""
CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: fast, accessModes: [ReadWriteMany]}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: x
---
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: high}
value: 1000
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl}
data: {NCCL_DEBUG: WARN, script.sh: "set -e\\npython x.py\\n"}
"""
STATEFUL = """\
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: workers}
spec:
  serviceName: workers
  replicas: 2
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec:
      serviceAccountName: robot
      topologySpreadConstraints:
      - {topologyKey: zone, whenUnsatisfiable: DoNotSchedule, maxSkew: 1, labelSelector: {matchLabels: {app: w}}}
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
          - {topologyKey: host, labelSelector: {matchLabels: {app: w}}}
      initContainers:
      - {name: init, image: "busybox@sha256:0123"}
      containers:
      - {name: w, image: "localhost:5000/torch", args: ["--name=$(JOB_NAME)", "$(PORT)"]}
  volumeClaimTemplates:
  - metadata: {name: scratch}
    spec: {storageClassName: fast}
---
apiVersion: v1
kind: Service
metadata: {name: workers}
spec: {clusterIP: None, selector: {app: w}, ports: [{port: 29500, name: a}, {port: 9000, name: b}]}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: robot}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: robot}
subjects:
- {kind: ServiceAccount, name: robot}
- {kind: ServiceAccount, name: default}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: robot}
rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: workers}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: w}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: ml}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: nightly}
spec:
  schedule: "0 0 * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - {name: n, image: torch, envFrom: [{configMapRef: {name: nccl}}]}
"""


def patched(patch: str, resource: str = JOB, **more: str) -> Files:
    """One resource, and one patch without a target."""
    return {
        "kustomization.yaml": "resources: [r.yaml]\npatches: [{path: p.yaml}]\n",
        "r.yaml": resource,
        "p.yaml": patch,
        **more,
    }


JOB_HEAD = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\n"
POD = "spec:\n  template:\n    spec:\n"

FOLDERS: dict[str, Files] = {
    "nothing but resources": {
        "kustomization.yaml": "resources:\n- r.yaml\n- sub\n",
        "r.yaml": JOB + "---\n" + CONFIG + "---\n# empty\n",
        "sub/kustomization.yml": "bases: [../deep]\n",
        "deep/Kustomization": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [t.yaml]\n",
        "deep/t.yaml": PYTORCH,
    },
    "a list is taken apart": {
        "kustomization.yaml": "resources: [r.yaml]\n",
        "r.yaml": "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
        "- {apiVersion: v1, kind: Pod, metadata: {name: b}}\n",
    },
    "anchors and merge keys": {
        "kustomization.yaml": "resources: [r.yaml]\nnamePrefix: x-\n",
        "r.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: a, labels: &l {app: x}}\n"
        "spec: {nodeSelector: {<<: *l, b: c}, containers: [{name: a, image: b}]}\n",
    },
    "a patch merges named lists": patched(
        JOB_HEAD + POD + "      containers:\n      - name: main\n        image: torch:2.4\n        env:\n"
        "        - {name: NCCL_DEBUG, value: WARN}\n        - {name: NEW, value: '1'}\n"
        "        ports:\n        - {containerPort: 29500, name: rdzv}\n        - {containerPort: 9000, name: tcp}\n"
        "        volumeMounts:\n        - {name: other, mountPath: /data}\n"
        "      - name: third\n        image: third\n      volumes:\n      - name: shm\n        emptyDir: {medium: Memory}\n"
    ),
    "a patch replaces other lists": patched(
        JOB_HEAD + POD + "      tolerations:\n      - {key: other}\n      containers:\n      - name: main\n"
        "        args: [a, b]\n        envFrom:\n        - secretRef: {name: s}\n"
    ),
    "a patch deletes": patched(
        JOB_HEAD.replace("{name: train}", "{name: train, labels: {team: null}}")
        + "spec:\n  backoffLimit: null\n  template:\n    spec:\n      priorityClassName: null\n      containers:\n"
        "      - name: sidecar\n        $patch: delete\n      - name: main\n        args: null\n        env:\n"
        "        - {name: TOKEN, $patch: delete}\n      volumes:\n      - name: cfg\n        $patch: delete\n"
    ),
    "a patch replaces a mapping": patched(
        JOB_HEAD + POD + "      containers:\n      - name: main\n        env:\n        - $patch: replace\n"
        "        - {name: ONLY, value: x}\n      volumes:\n      - name: data\n        persistentVolumeClaim:\n"
        "          $patch: replace\n          claimName: other\n"
    ),
    "a patch removes the object": {
        "kustomization.yaml": "resources: [r.yaml, c.yaml]\npatches: [{path: p.yaml}]\n",
        "r.yaml": JOB, "c.yaml": CONFIG, "p.yaml": JOB_HEAD + "$patch: delete\n",
    },
    "a patch adds with nulls in it": patched(
        JOB_HEAD + POD + "      securityContext: {runAsUser: 1, fsGroup: null}\n      nodeSelector: {}\n"
        "      initContainers:\n      - {name: i, image: x, args: null}\n      - {name: gone, $patch: delete}\n"
    ),
    "a patch on a custom resource replaces lists": patched(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: torch}\nspec:\n  pytorchReplicaSpecs:\n"
        "    Master:\n      template:\n        spec:\n          containers:\n          - name: pytorch\n            env:\n"
        "            - {name: C, value: c}\n    Worker: {replicas: 7}\n  nprocPerNode: null\n",
        PYTORCH,
    ),
    "finalizers and owners": patched(
        JOB_HEAD.replace("{name: train}", "{name: train, finalizers: [b, c], labels: {x: y}}"),
        JOB.replace("labels: {team: a}", "finalizers: [a, b]"),
    ),
    "patches with targets": {
        "kustomization.yaml": """\
resources: [j.yaml, p.yaml, s.yaml]
patches:
- target: {kind: Job|PyTorchJob, name: t.*}
  patch: |-
    - op: add
      path: /metadata/annotations
      value: {a/b: "1"}
- target: {group: kubeflow.org, version: v1, kind: PyTorchJob}
  patch: |-
    apiVersion: any/v1
    kind: PyTorchJob
    metadata: {name: not-used}
    spec: {runPolicy: {backoffLimit: 3}}
- target: {labelSelector: "team in (a, b),!old"}
  path: label.yaml
- target: {annotationSelector: "a/b=1", namespace: default}
  patch: '[{"op": "add", "path": "/metadata/labels/x", "value": "y"}]'
- target: {kind: Nothing}
  path: label.yaml
""",
        "j.yaml": JOB, "p.yaml": PYTORCH.replace("name: torch", "name: torch\n  labels: {l: m}", 1), "s.yaml": STATEFUL,
        "label.yaml": "- {op: replace, path: /metadata/labels/team, value: c}\n",
    },
    "json patches": {
        "kustomization.yaml": """\
resources: [r.yaml]
patchesJson6902:
- target: {group: batch, version: v1, kind: Job, name: train}
  path: ops.yaml
- target: {version: v1, kind: Job, name: train}
  patch: |-
    - {op: test, path: /spec/backoffLimit, value: 4}
    - {op: remove, path: /spec/template/spec/tolerations/0}
""",
        "r.yaml": JOB,
        "ops.yaml": """\
- {op: replace, path: /spec/backoffLimit, value: 4}
- {op: add, path: /spec/template/spec/containers/0/env/0, value: {name: FIRST, value: "1"}}
- {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: LAST, value: "1"}}
- {op: add, path: /metadata/annotations, value: {x~y: z}}
- {op: add, path: /metadata/annotations/a~1b, value: c}
- {op: copy, from: /spec/template/spec/containers/1, path: /spec/template/spec/containers/-}
- {op: replace, path: /spec/template/spec/containers/2/name, value: copy}
- {op: move, from: /spec/template/spec/restartPolicy, path: /spec/template/spec/moved}
- {op: remove, path: /metadata/labels}
""",
    },
    "legacy strategic patches": {
        "kustomization.yaml": "resources: [r.yaml]\npatchesStrategicMerge:\n- p.yaml\n- |-\n  apiVersion: batch/v1\n"
        "  kind: Job\n  metadata: {name: train}\n  spec: {backoffLimit: 5}\n",
        "r.yaml": JOB, "p.yaml": JOB_HEAD + "spec: {parallelism: 2}\n---\n" + JOB_HEAD + "spec: {completions: 2}\n",
    },
    "names and namespaces": {
        "kustomization.yaml": "resources: [j.yaml, c.yaml, p.yaml, s.yaml, d.yaml]\nnamePrefix: pre-\nnameSuffix: -suf\n"
        "namespace: ml-prod\n",
        "j.yaml": JOB, "c.yaml": CLAIM, "p.yaml": PYTORCH, "s.yaml": STATEFUL, "d.yaml": CONFIG,
    },
    "labels and annotations": {
        "kustomization.yaml": "resources: [j.yaml, p.yaml, s.yaml]\ncommonLabels: {env: prod, num: '1'}\n"
        "commonAnnotations: {owner: me}\nlabels:\n- pairs: {plain: a}\n- pairs: {templates: b}\n  includeTemplates: true\n"
        "- pairs: {selectors: c}\n  includeSelectors: true\n- pairs: {own: d}\n  fields:\n"
        "  - {path: spec/custom, kind: PyTorchJob, create: true}\n",
        "j.yaml": JOB, "p.yaml": PYTORCH, "s.yaml": STATEFUL,
    },
    "images": {
        "kustomization.yaml": "resources: [j.yaml, p.yaml, s.yaml]\nimages:\n- {name: registry.io/torch, newTag: '2.5'}\n"
        "- {name: busybox, newName: mirror/busybox, digest: 'sha256:abcd'}\n- {name: 'localhost:5000/torch', newTag: v1}\n"
        "- {name: mirror/busybox, newTag: x}\n- {name: torch, newName: other}\n",
        "j.yaml": JOB, "p.yaml": PYTORCH, "s.yaml": STATEFUL,
    },
    "replicas": {
        "kustomization.yaml": "resources: [s.yaml]\nnamePrefix: a-\nreplicas: [{name: workers, count: 5}]\n", "s.yaml": STATEFUL,
    },
    "generators": {
        "kustomization.yaml": """\
resources: [j.yaml, p.yaml]
namePrefix: a-
generatorOptions: {labels: {gen: "yes"}, annotations: {x: z}}
configMapGenerator:
- name: nccl
  literals: [NCCL_DEBUG=WARN, 'QUOTED="a b"', "EQ=a=b", 'HTML=<a> & b']
  files: [train.sh, renamed.txt=sub/other.txt, blob.bin]
  envs: [vars.env]
- name: fixed
  options: {disableNameSuffixHash: true, labels: {gen: own}, immutable: true}
  literals: [A=1]
- name: empty
secretGenerator:
- name: hub
  type: kubernetes.io/opaque
  literals: [token=abc]
  env: vars.env
- name: long
  namespace: ml
  files: [train.sh]
""",
        "j.yaml": JOB, "p.yaml": PYTORCH,
        "train.sh": "#!/bin/bash\nset -e\npython train.py  # " + "long " * 30 + "\n",
        "sub/other.txt": "crlf\r\nline \t\n\n",
        "vars.env": "# comment\nA=1\n  B=two words \n\nC\nD=x=y\r\nQ=\"kept\"",
    },
    "generators merge and replace": {
        "kustomization.yaml": "resources: [base]\nconfigMapGenerator:\n- {name: a, behavior: merge, literals: [X=2, Z=3]}\n"
        "- {name: b, behavior: replace, literals: [Z=3], options: {labels: {l: m}}}\n",
        "base/kustomization.yaml": "resources: [p.yaml]\nnamePrefix: pre-\nconfigMapGenerator:\n"
        "- {name: a, literals: [X=1, Y=1]}\n- {name: b, literals: [X=1], options: {annotations: {k: v}}}\n",
        "base/p.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: c, image: i, "
        "envFrom: [{configMapRef: {name: a}}, {configMapRef: {name: b}}]}]}\n",
    },
    "overlays over a base": {
        "kustomization.yaml": "resources: [base, other]\nnamePrefix: top-\npatches: [{path: p.yaml}]\nimages:\n"
        "- {name: registry.io/torch, newName: x/torch, newTag: '9'}\n",
        "p.yaml": JOB_HEAD.replace("train", "mid-train") + "spec: {backoffLimit: 7}\n",
        "base/kustomization.yaml": "resources: [j.yaml, c.yaml]\nnamePrefix: mid-\nnameSuffix: -x\npatches: [{path: p.yaml}]\n"
        "configMapGenerator: [{name: nccl, literals: [A=b]}]\n".replace("mid-\nnameSuffix: -x", "mid-"),
        "base/j.yaml": JOB, "base/c.yaml": CLAIM, "base/p.yaml": JOB_HEAD + "spec: {parallelism: 4}\n",
        "other/kustomization.yaml": "resources: [j.yaml]\nconfigMapGenerator: [{name: nccl, literals: [A=c]}]\nnameSuffix: -o\n",
        "other/j.yaml": JOB,
    },
    "components": {
        "kustomization.yaml": "resources: [j.yaml]\ncomponents: [comp]\nconfigMapGenerator: [{name: nccl, literals: [A=b]}]\n"
        "commonLabels: {outer: x}\n",
        "j.yaml": JOB,
        "comp/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [c.yaml]\n"
        "namePrefix: c-\npatches:\n- target: {kind: Job}\n  patch: |-\n    - {op: add, path: /spec/completions, value: 3}\n"
        "configMapGenerator: [{name: nccl, behavior: merge, literals: [B=c]}]\n",
        "comp/c.yaml": CLAIM,
    },
    "replacements": {
        "kustomization.yaml": """\
resources: [j.yaml, p.yaml, c.yaml]
replacements:
- source: {kind: ConfigMap, name: nccl, fieldPath: data.NCCL_DEBUG}
  targets:
  - select: {kind: Job}
    fieldPaths: ["spec.template.spec.containers.[name=main].env.[name=NCCL_DEBUG].value"]
  - select: {kind: PyTorchJob, name: torch}
    fieldPaths: ["spec.pytorchReplicaSpecs.Worker.template.metadata.annotations.level", "metadata.labels.[x.y/z]"]
    options: {create: true}
    reject: [{name: other}]
- source: {kind: Job, name: train, fieldPath: spec.backoffLimit}
  targets:
  - select: {kind: PyTorchJob}
    fieldPaths: [spec.pytorchReplicaSpecs.Worker.replicas]
- source: {kind: Job, fieldPath: "spec.template.spec.containers.0.image", options: {delimiter: ":", index: 1}}
  targets:
  - select: {kind: PyTorchJob}
    fieldPaths: ["spec.pytorchReplicaSpecs.Master.template.spec.containers.*.image"]
    options: {delimiter: ":", index: 1}
- path: more.yaml
""".replace(', "metadata.labels.[x.y/z]"', ""),
        "j.yaml": JOB, "p.yaml": PYTORCH, "c.yaml": CONFIG,
        "more.yaml": "source: {kind: Job}\ntargets:\n- select: {kind: ConfigMap}\n  fieldPaths: [data.JOB]\n  options: {create: true}\n",
    },
    "variables": {
        "kustomization.yaml": "resources: [s.yaml]\nnamePrefix: v-\nvars:\n- name: JOB_NAME\n  objref: {kind: StatefulSet, "
        "name: workers, apiVersion: apps/v1}\n- name: PORT\n  objref: {kind: Service, name: workers, apiVersion: v1}\n"
        "  fieldref: {fieldpath: spec.clusterIP}\n",
        "s.yaml": STATEFUL,
    },
    "configurations": {
        "kustomization.yaml": "resources: [p.yaml, c.yaml]\nnamePrefix: z-\nconfigurations: [refs.yaml]\ncommonLabels: {l: m}\n",
        "p.yaml": PYTORCH.replace("env:", "envFrom: [{configMapRef: {name: nccl}}]\n            env:", 1), "c.yaml": CONFIG,
        "refs.yaml": "nameReference:\n- kind: ConfigMap\n  version: v1\n  fieldSpecs:\n  - kind: PyTorchJob\n"
        "    path: spec/pytorchReplicaSpecs/Master/template/spec/containers/envFrom/configMapRef/name\n"
        "commonLabels:\n- path: spec/pytorchReplicaSpecs/Master/template/metadata/labels\n  kind: PyTorchJob\n  create: true\n",
    },
    "renamed and retyped by patches": {
        "kustomization.yaml": "resources: [j.yaml, c.yaml]\npatches:\n- target: {kind: Job}\n  options: {allowNameChange: true}\n"
        "  patch: |-\n    apiVersion: batch/v1\n    kind: Job\n    metadata: {name: renamed}\n"
        "- target: {kind: ConfigMap}\n  patch: |-\n    - {op: replace, path: /metadata/name, value: other}\n",
        "j.yaml": JOB, "c.yaml": CONFIG,
    },
    "objects of tools are left out": {
        "kustomization.yaml": "resources: [c.yaml, j.yaml]\n", "j.yaml": JOB,
        "c.yaml": CONFIG.replace("{name: nccl}", "{name: x, annotations: {config.kubernetes.io/local-config: 'true'}}"),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FOLDERS)
def test_the_objects_are_those_of_kubectl(root: Path, name: str) -> None:
    files = dict(FOLDERS[name])
    write(root, files)
    if name == "generators":
        write(root, {"blob.bin": b"\xff\x00\x01" * 60})
    (root / "kustomization.yaml").write_text(files["kustomization.yaml"] + "# gpu\n")
    outcome = built()
    assert [(note.what, note.reason) for build in outcome.bundle.builds for note in build.notes] == []
    assert len(outcome.bundle.builds) == 1
    assert data_of(outcome.bundle.objects) == expected(root)
    assert outcome.problems == []


# Places


def test_every_value_points_at_the_line_that_wrote_it(root: Path) -> None:
    write(
        root,
        {
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": JOB,
            "prod/kustomization.yaml": "resources: [../base]\nnamespace: prod\npatches:\n- path: patch.yaml\n"
            "- target: {kind: Job}\n  patch: |-\n    - op: add\n      path: /spec/completions\n      value: 4\n"
            "images:\n- name: registry.io/torch\n  newTag: '9'\nconfigMapGenerator:\n- name: nccl\n  literals:\n"
            "  - NCCL_DEBUG=WARN\n  files: [train.sh]\n  envs: [vars.env]\n",
            "prod/patch.yaml": JOB_HEAD + POD + "      containers:\n      - name: main\n        env:\n"
            "        - name: NCCL_DEBUG\n          value: WARN\n",
            "prod/train.sh": "set -e\npython train.py\n",
            "prod/vars.env": "# c\nA=b\n",
        },
    )
    outcome = built()
    bundle = outcome.bundle
    (job,) = bundle.by_kind("batch", "Job")
    assert (job.build, job.namespace, job.file.shown) == ("prod/kustomization.yaml", "prod", "base/job.yaml")
    container = ("spec", "template", "spec", "containers", 0)
    assert where(job.node) == "base/job.yaml:1"
    assert where(at(bundle, "Job", "spec", "backoffLimit")) == "base/job.yaml:7"
    assert where(at(bundle, "Job", *container, "env", 0, "value")) == "prod/patch.yaml:11"
    assert where(at(bundle, "Job", *container, "env", 1, "name")) == "base/job.yaml:22"
    assert where(at(bundle, "Job", *container, "image")) == "prod/kustomization.yaml:12"
    assert where(at(bundle, "Job", "metadata", "namespace")) == "prod/kustomization.yaml:2"
    completions = at(bundle, "Job", "spec", "completions")
    assert where(completions) == "prod/kustomization.yaml:9"
    assert completions.place.text == "4"
    data = at(bundle, "ConfigMap", "data")
    literal, script, variable = (scalar(data, key) for key in ("NCCL_DEBUG", "train.sh", "A"))
    assert literal is not None and script is not None and variable is not None
    assert (literal.place.text, where(literal)) == ("WARN", "prod/kustomization.yaml:16")
    assert (script.text, where(script)) == ("set -e\npython train.py\n", "prod/train.sh:1")
    assert (variable.place.text, where(variable)) == ("b", "prod/vars.env:2")
    word = scalar_text(script).place(14, 22)
    assert (word.text, word.start) == ("train.py", Position(2, 8))
    reference = at(bundle, "Job", *container, "envFrom", 0, "configMapRef", "name")
    assert where(reference) == "base/job.yaml:25"
    found = bundle.config_map(scalar(reference).text, "prod", job)  # type: ignore[union-attr]
    assert found.entries["NCCL_DEBUG"].text == "WARN"  # type: ignore[union-attr]
    assert sorted(source.path for source, _ in outcome.sources) == [
        "base/job.yaml", "base/kustomization.yaml", "prod/kustomization.yaml", "prod/patch.yaml",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "reason"),
    [("", "its generator makes src-"), ("generatorOptions: {disableNameSuffixHash: true}\n", "")],
)
def test_a_hash_that_is_not_written_into_an_unknown_kind_is_named(root: Path, options: str, reason: str) -> None:
    job = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: p}\n"
    kustomization = "resources: [job.yaml]\nconfigMapGenerator: [{name: src, literals: [A=b]}]\n"
    write(root, {"job.yaml": job, "kustomization.yaml": options + kustomization})
    bundle = built().bundle
    near = bundle.by_kind("kubeflow.org", "PyTorchJob")[0]
    bundle.find("", "ConfigMap", "src", "", near, near.place)
    bundle.find("", "ConfigMap", "sr", "", near, near.place)
    reasons = {one.what: one.reason for one in bundle.unresolved}
    assert reasons["ConfigMap sr"] == "it is not in the given paths"
    assert reasons.get("ConfigMap src", "").startswith(reason)
    assert ("ConfigMap src" in reasons) is bool(reason)


def test_the_files_themselves_stay_as_they_are(root: Path) -> None:
    write(root, patched(JOB_HEAD + "spec: {backoffLimit: 9}\n"))
    write(root, {"other/kustomization.yaml": "resources: [../r.yaml]\n", "x.yaml": PYTORCH})
    objects = built().bundle.by_kind("batch", "Job")
    assert sorted(plain(dig(kube.node, "spec", "backoffLimit")) for kube in objects) == [0, 9]


# What is judged


def names(outcome: Loaded) -> list[str]:
    return [f"{kube.build}: {kube.kind} {kube.name}" for kube in outcome.bundle.objects]


def test_bases_and_patches_are_not_judged_alone(root: Path) -> None:
    write(
        root,
        {
            "base/kustomization.yaml": "resources: [job.yaml]\npatches: [{path: p.yaml}]\n",
            "base/job.yaml": JOB,
            "base/p.yaml": JOB_HEAD + "spec: {parallelism: 3}\n",
            "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n",
            "prod/kustomization.yaml": "resources: [../base]\nnamePrefix: prod-\n",
            "alone.yaml": JOB.replace("train", "alone", 1),
        },
    )
    assert names(built()) == [
        ": Job alone", "dev/kustomization.yaml: Job dev-train", "prod/kustomization.yaml: Job prod-train",
    ]  # fmt: skip
    assert names(built("dev")) == ["dev/kustomization.yaml: Job dev-train"] or not (root / ".git").exists()


def test_a_base_outside_of_the_given_paths_is_read_within_git(root: Path) -> None:
    write(
        root,
        {
            ".git/HEAD": "x",
            "base/kustomization.yaml": "resources: [job.yaml]\n",
            "base/job.yaml": JOB,
            "dev/kustomization.yaml": "resources: [../base]\nnamePrefix: dev-\n",
        },
    )
    outcome = built("dev")
    assert names(outcome) == ["dev/kustomization.yaml: Job dev-train"]
    assert outcome.bundle.objects[0].file.shown == "base/job.yaml"
    (root / ".git/HEAD").unlink()
    (root / ".git").rmdir()
    outcome = built("dev/kustomization.yaml")
    assert outcome.bundle.objects == []
    assert [item.reason for item in outcome.bundle.unresolved] == ["it is outside of the repository or the given paths"]


def test_kustomizations_of_other_things_are_not_built(root: Path) -> None:
    write(
        root,
        {
            "web/kustomization.yaml": "resources: [deploy.yaml, ../lib]\n",
            "web/deploy.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n",
            "lib/kustomization.yaml": "resources: [svc.yaml]\n",
            "lib/svc.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
            "job.yaml": JOB,
        },
    )
    discovery = discover(["."])
    outcome = load(discovery)
    assert names(outcome) == [": Job train"]
    assert outcome.bundle.builds == []
    skipped = [counts["no training, node or Slurm object"] for counts in (discovery.skipped, outcome.skipped)]
    assert sum(skipped) == 4


@pytest.mark.parametrize(
    "words", ["resources: [../base]\n", "components: [../base]\n", "resources: [r.yaml]\n# nvidia.com/gpu\n"]
)
def test_relevance_is_found_through_other_kustomizations(root: Path, words: str) -> None:
    write(
        root,
        {
            "over/kustomization.yaml": words,
            "over/r.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
            "base/kustomization.yaml": "resources: [../deep]\n",
            "deep/kustomization.yaml": "resources: [job.yaml]\n",
            "deep/job.yaml": JOB,
        },
    )
    assert "over/kustomization.yaml" in {build.file.shown for build in built().bundle.builds}


def test_kustomizations_in_a_ring_are_built_once_and_noted(root: Path) -> None:
    write(
        root,
        {
            "a/kustomization.yaml": "resources: [../b, job.yaml]\n",
            "a/job.yaml": JOB,
            "b/kustomization.yaml": "resources: [../a]\n",
        },
    )
    met: list[str] = []
    with limits.heard_by(lambda place, message: met.append(f"{place}: {message}")):
        outcome = built()
    assert names(outcome) == ["a/kustomization.yaml: Job train"]
    assert met == [
        "b/kustomization.yaml:1:13: the kustomizations include one another in a ring: Kustomize refuses to build them"
    ]


def test_a_flux_object_of_that_kind_is_no_kustomization(root: Path) -> None:
    write(
        root,
        {
            "kustomization.yaml": "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\n"
            "metadata: {name: training}\nspec: {path: ./job.yaml}\n",
            "job.yaml": JOB,
        },
    )
    assert names(built()) == [": Job train"]


@pytest.mark.parametrize("named", ["patch.yaml", "job.yaml"])
def test_a_named_file_is_judged_within_its_kustomization(root: Path, named: str) -> None:
    write(
        root,
        {
            ".git/HEAD": "x",
            "app/kustomization.yaml": "resources: [job.yaml, other.yaml]\npatches: [{path: patch.yaml}]\n",
            "app/job.yaml": JOB,
            "app/other.yaml": PYTORCH,
            "app/patch.yaml": JOB_HEAD + "spec: {backoffLimit: 5}\n",
        },
    )
    outcome = built(f"app/{named}")
    assert names(outcome) == ["app/kustomization.yaml: Job train"]
    (job,) = outcome.bundle.objects
    assert plain(dig(job.node, "spec", "backoffLimit")) == 5
    assert isinstance(outcome.bundle.find(None, "PyTorchJob", "torch", None, job), KubeObject)


def test_a_named_file_that_no_kustomization_takes_in_is_judged_alone(root: Path) -> None:
    write(root, {".git/HEAD": "x", "kustomization.yaml": "resources: [other.yaml] # job.yaml\n", "job.yaml": JOB,
                 "other.yaml": PYTORCH})  # fmt: skip
    assert names(built("job.yaml")) == [": Job train"]


def test_the_same_name_in_two_builds_is_told_apart(root: Path) -> None:
    for env, value in (("dev", "INFO"), ("prod", "WARN")):
        write(
            root,
            {
                f"{env}/kustomization.yaml": "resources: [../base]\nconfigMapGenerator:\n- name: nccl\n"
                f"  literals: [NCCL_DEBUG={value}]\ngeneratorOptions: {{disableNameSuffixHash: true}}\n",
                "base/kustomization.yaml": "resources: [job.yaml]\n",
                "base/job.yaml": JOB,
            },
        )
    bundle = built().bundle
    values = {job.build: bundle.config_map("nccl", None, job).entries["NCCL_DEBUG"].text  # type: ignore[union-attr]
              for job in bundle.by_kind("batch", "Job")}  # fmt: skip
    assert values == {"dev/kustomization.yaml": "INFO", "prod/kustomization.yaml": "WARN"}


# What cannot be seen


@pytest.mark.parametrize(
    "base",
    ["https://github.com/o/r//deploy?ref=v1", "github.com/o/r/deploy", "git@github.com:o/r.git", "../gone"],
)
def test_a_base_that_is_not_local_leaves_the_build_open(root: Path, base: str) -> None:
    write(root, {"kustomization.yaml": f"resources: [job.yaml, '{base}']\n", "job.yaml": JOB})
    bundle = built().bundle
    (build,) = bundle.builds
    assert base in build.open_because
    assert [item.what for item in bundle.unresolved] == [base if base == "../gone" else f"the base {base}"]
    job = bundle.objects[0]
    found = bundle.find("", "ConfigMap", "nccl", None, job)
    assert found is not None and not isinstance(found, KubeObject)
    assert "may be there" in found.reason


@pytest.mark.parametrize("key", ["transformers", "generators"])
def test_plugins_are_not_run(root: Path, key: str) -> None:
    write(
        root,
        {
            "kustomization.yaml": f"resources: [job.yaml]\n{key}: [plugin.yaml]\n",
            "job.yaml": JOB,
            "plugin.yaml": "a: b\n",
        },
    )
    outcome = built()
    (job,) = outcome.bundle.objects
    assert bool(job.open_because) is (key == "transformers")
    whole = Part.of(job.node)
    assert isinstance(whole.integer("spec", "backoffLimit"), Set)
    missing = whole.integer("spec", "activeDeadlineSeconds")
    assert isinstance(missing, Unknown if key == "transformers" else Absent)
    environment = whole.at("spec", "template", "spec", "containers").items()[0].at("env")
    assert bool(environment.open_list) is (key == "transformers")
    assert outcome.bundle.builds[0].open_because
    assert [item.reason for item in outcome.bundle.unresolved] == ["gaplint runs no plugin"]


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"patches": "[{path: gone.yaml}]"}, "the patch gone.yaml cannot be read"),
        ({"patches": "[{patch: 'a: ['}]"}, "the patch is no YAML"),
        ({"patches": "[{target: {kind: Job}}]"}, "neither a patch nor a path"),
        ({"patches": "[{patch: '[{op: remove, path: /a}]'}]"}, "a JSON patch needs a target"),
        ({"patches": "[{target: {kind: Job}, patch: '[{op: remove, path: /spec/gone}]'}]"}, "there is no gone"),
        ({"patches": "[{target: {kind: Job}, patch: '[{op: test, path: /kind, value: Pod}]'}]"}, "the test of /kind fails"),
        ({"patches": "[{target: {kind: Job}, patch: '[{op: add, path: kind, value: Pod}]'}]"}, "is no JSON pointer"),
        ({"patches": "[{target: {kind: '(a+)+'}, patch: '[]'}]"}, "the pattern (a+)+ cannot be used"),
        ({"patches": "[{target: {kind: '['}, patch: '[]'}]"}, "the pattern [ cannot be used"),
        ({"patches": "[{patch: 'apiVersion: v1\\nkind: Pod\\nmetadata: {name: x}'}]".replace("'", '"')}, "there is no object"),
        ({"patches": "[{target: {kind: Job}, patch: 'spec: {template: 3}'}]"}, "another shape"),
        ({"patches": "[{target: {kind: Job}, patch: 'spec: {$patch: what}'}]"}, "unknown patch directive what"),
        ({"replicas": "[{name: x, count: 2}]"}, "there is no workload x"),
        ({"configMapGenerator": "[{name: x, files: [gone.sh]}]"}, "the file gone.sh cannot be read"),
        ({"configMapGenerator": "[{name: x, literals: [novalue]}]"}, "is not key=value"),
        ({"configMapGenerator": "[{name: x, literals: [a=1, a=2]}]"}, "is given twice"),
        ({"configMapGenerator": "[{name: x, behavior: merge}]"}, "to merge into"),
        ({"configMapGenerator": "[{name: x, files: [../../secret]}]"}, "cannot be read"),
        ({"replacements": "[{source: {kind: Nothing}, targets: []}]"}, "nothing is the source"),
        ({"replacements": "[{sourceValue: x, targets: [{select: {kind: Job}, fieldPaths: [spec.gone.x]}]}]"}, "has no spec.gone.x"),
        ({"resources": "[job.yaml, job.yaml]"}, "an object of that name already"),
    ],
)  # fmt: skip
def test_what_kustomize_refuses_is_noted_and_the_rest_is_judged(root: Path, files: Files, reason: str) -> None:
    keys = {"resources": "[job.yaml]", **files}
    write(root, {"kustomization.yaml": "".join(f"{key}: {value}\n" for key, value in keys.items()), "job.yaml": JOB})
    write(root.parent, {"secret": "x"})
    outcome = built()
    assert [kube.name for kube in outcome.bundle.by_kind("batch", "Job")] == ["train"]
    (item,) = outcome.bundle.unresolved
    assert reason in item.reason
    assert item.place.source.path in ("kustomization.yaml", "job.yaml")


def test_a_broken_kustomization_is_a_problem_and_its_files_are_judged_alone(root: Path) -> None:
    write(root, {"kustomization.yaml": "resources: [job.yaml]\npatches: {\n", "job.yaml": JOB})
    outcome = built()
    assert [problem.place.source.path for problem in outcome.problems] == ["kustomization.yaml"]
    assert names(outcome) == [": Job train"]


def test_a_broken_base_is_a_problem_once(root: Path) -> None:
    write(
        root,
        {
            "base/job.yaml": JOB + "---\na: [\n",
            "a/kustomization.yaml": "resources: [../base/job.yaml]\n",
            "b/kustomization.yaml": "resources: [../base/job.yaml]\n",
        },
    )
    outcome = built()
    assert [problem.place.source.path for problem in outcome.problems] == ["base/job.yaml"]
    assert len(outcome.bundle.objects) == 2


def test_growth_without_end_is_stopped(root: Path) -> None:
    """Each level takes the one below in twice; forty of them would be a million million objects."""
    files: Files = {"l0/kustomization.yaml": "resources: [job.yaml]\n", "l0/job.yaml": JOB}
    for level in range(1, 41):
        for side in ("a", "b"):
            below = [f"../../l{level - 1}"] if level == 1 else [f"../../l{level - 1}/a", f"../../l{level - 1}/b"]
            files[f"l{level}/{side}/kustomization.yaml"] = f"resources: {below}\nnamePrefix: {side}-\n"
    write(root, {".git/HEAD": "x", **files})
    met: list[str] = []
    with limits.heard_by(lambda _place, message: met.append(message)):
        built("l40/a")
    assert met == ["the build holds more than 300,000 values: it was given up"]


def test_a_patch_that_copies_itself_is_stopped(root: Path) -> None:
    operations = "".join(f"- {{op: copy, from: /spec, path: /spec/x{number}}}\n" for number in range(60))
    write(root, {"kustomization.yaml": "resources: [job.yaml]\npatches: [{target: {kind: Job}, path: p.yaml}]\n",
                 "job.yaml": JOB, "p.yaml": operations})  # fmt: skip
    met: list[str] = []
    with limits.heard_by(lambda _place, message: met.append(message)):
        built()
    assert met == ["the build holds more than 300,000 values: it was given up"]
