"""Loading candidates, and the references between objects."""

from __future__ import annotations

from pathlib import Path

import pytest

from kube_gaplint.bundle.bundle import Bundle, ConfigMapData, Loaded, load
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.discover import discover
from kube_gaplint.model.setting import Unknown
from kube_gaplint.text.source import Position

JOB = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: train
spec:
  template:
    spec:
      containers:
      - name: t
        image: torch
        envFrom:
        - configMapRef: {name: nccl}
"""


def config_map(value: str, name: str = "nccl", namespace: str = "") -> str:
    space = f", namespace: {namespace}" if namespace else ""
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}{space}}}\ndata: {{NCCL_DEBUG: '{value}'}}\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
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


def loaded(*paths: str, stdin: str | None = None) -> Loaded:
    return load(discover(paths or (".",), stdin=None if stdin is None else stdin.encode()))


def described(bundle: Bundle) -> list[str]:
    return [f"{kube.file.shown}: {kube.kind} {kube.name}" for kube in bundle.objects]


def job_of(bundle: Bundle, path: str = "") -> KubeObject:
    return next(kube for kube in bundle.by_kind("batch", "Job") if kube.file.shown.startswith(path))


def value_of(found: ConfigMapData | Unknown) -> str:
    if isinstance(found, Unknown):
        return f"unknown: {found.reason}"
    return found.entries["NCCL_DEBUG"].text


# Loading


def test_objects_are_listed_in_the_order_of_the_files(root: Path) -> None:
    write(root, {"b.yaml": JOB + "---\n" + config_map("B"), "a/cm.yaml": config_map("A"), "z.sbatch": "#SBATCH -N 2\n"})
    outcome = loaded()
    assert described(outcome.bundle) == ["b.yaml: Job train", "b.yaml: ConfigMap nccl", "a/cm.yaml: ConfigMap nccl"]
    assert [script.source.path for script in outcome.bundle.scripts] == ["z.sbatch"]
    assert (outcome.files, outcome.documents) == (3, 3)
    assert [(source.path, len(documents)) for source, documents in outcome.sources] == [
        ("b.yaml", 2), ("z.sbatch", 0), ("a/cm.yaml", 1),
    ]  # fmt: skip


def test_supporting_files_are_read_only_where_they_are_named(root: Path) -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {storageClassName: fast}\n"
    write(
        root,
        {
            "job.yaml": JOB.replace("nccl", "data"),
            "claim.yaml": claim,
            "class.yaml": "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: fast}\n",
            "volume.yaml": "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: fast}\n",
            "other.yaml": config_map("x", "unrelated"),
            "broken.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: [}\n",
        },
    )
    outcome = loaded()
    assert described(outcome.bundle) == [
        "claim.yaml: PersistentVolumeClaim data", "class.yaml: StorageClass fast", "job.yaml: Job train",
        "volume.yaml: PersistentVolume fast",
    ]  # fmt: skip
    assert outcome.skipped == {"no training, node or Slurm object": 2}
    assert outcome.problems == []


def test_evidence_alone_is_nothing_to_judge(root: Path) -> None:
    write(root, {"pdb.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: p}\n"})
    outcome = loaded()
    assert (outcome.bundle.objects, outcome.files) == ([], 0)
    assert outcome.skipped == {"no training, node or Slurm object": 1}
    assert described(loaded("pdb.yaml").bundle) == ["pdb.yaml: PodDisruptionBudget p"]


def test_documents_without_an_object_are_kept(root: Path) -> None:
    write(root, {"user-data.yaml": "#cloud-config\npackage_upgrade: true\n"})
    (document,) = loaded().bundle.others
    assert document.source.path == "user-data.yaml"


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_line_ends(root: Path, codec: str, newline: str) -> None:
    write(root, {"job.yaml": JOB.replace("\n", newline).encode(codec)})
    (job,) = loaded().bundle.objects
    name = job.name_node
    assert name is not None and (name.text, name.place.start) == ("train", Position(4, 9))


def test_a_syntax_error_keeps_the_documents_before_it(root: Path) -> None:
    write(root, {"job.yaml": JOB + "---\na: [\n"})
    outcome = loaded()
    assert described(outcome.bundle) == ["job.yaml: Job train"]
    assert [problem.kind for problem in outcome.problems] == ["syntax"]


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        "{% if x %}\nspec: 1\n{% endif %}\n",
        'spec:\n  {{- include "x" . | nindent 2 }}\n',
        "spec: {{ x }}-y\n",
        "spec: {{ x }}\n",
        "<%= x %>\n",
        "spec: {replicas: %d}\n",
        "more: %(name)s\n",
        "spec:\n${SPEC}\nother: 1\n",
        "spec:\n  a: 1\n  $EXTRA  # by envsubst\n  b: 2\n",
        "spec:\n<FILL IN>\nother: 1\n",
        "spec:\n  a: 1\n  __VOLUMES__\n  b: 2\n",
    ],
)
def test_a_template_is_passed_over_with_a_hint(root: Path, body: str, named: bool) -> None:
    write(root, {"job.yaml": JOB + body})
    outcome = loaded("job.yaml" if named else ".")
    assert (outcome.problems, outcome.bundle.objects, outcome.files) == ([], [], 0)
    assert outcome.skipped == {"template that is not filled in": 1}
    assert len(outcome.hints) == 1 and "job.yaml" in outcome.hints[0] and "gaplint -" in outcome.hints[0]


def test_a_line_without_a_colon_is_no_template(root: Path) -> None:
    write(root, {"job.yaml": JOB + "spec:\n  a: 1\n  backoffLimit\n  b: 2\n"})
    assert [problem.kind for problem in loaded().problems] == ["syntax"]


def test_yaml_with_variables_is_judged(root: Path) -> None:
    write(root, {"job.yaml": JOB.replace("train", "${JOB}").replace("torch", "$IMAGE")})
    assert described(loaded().bundle) == ["job.yaml: Job ${JOB}"]


def test_an_undecodable_file_that_is_named_is_a_problem(root: Path) -> None:
    write(root, {"job.yaml": JOB.encode() + b"# caf\xe9\n", "blob.yaml": b"\x00\x01kind: Job apiVersion gpu"})
    outcome = loaded("job.yaml", "blob.yaml")
    assert [(problem.kind, problem.place.source.path) for problem in outcome.problems] == [
        ("syntax", "job.yaml"), ("syntax", "blob.yaml"),
    ]  # fmt: skip
    assert "UTF-8" in outcome.problems[0].message


def test_a_named_file_over_the_limit_is_a_problem(root: Path) -> None:
    with (root / "big.yaml").open("wb") as file:
        file.truncate(11 * 2**20)
    (problem,) = loaded("big.yaml").problems
    assert (problem.kind, problem.message) == ("limit", "the file is larger than 10 MiB: it was not read")


def test_helm_output_tells_the_template_of_each_object() -> None:
    text = (
        "---\n# Source: train/templates/cm.yaml\n" + config_map("x")
        + "---\n# Source: train/templates/job.yaml\n# a comment\n" + JOB
        + "---\n" + config_map("y", "plain")
        + "---\r\n# Source: train/templates/last.yaml\r\n" + config_map("z", "last")
    )  # fmt: skip
    bundle = loaded("-", stdin=text).bundle
    assert [(kube.name, kube.template) for kube in bundle.objects] == [
        ("nccl", "train/templates/cm.yaml"), ("train", "train/templates/job.yaml"), ("plain", ""),
        ("last", "train/templates/last.yaml"),
    ]  # fmt: skip
    assert value_of(bundle.config_map("nccl", "", job_of(bundle))) == "x"


def test_a_script_on_standard_input() -> None:
    (script,) = loaded("-", stdin="#!/bin/bash\n#SBATCH -N 2\nsrun x\n").bundle.scripts
    assert script.text.text.startswith("#!/bin/bash")
    assert script.text.place(0, 2).source.path == "<stdin>"


# References


def test_the_nearest_object_is_meant(root: Path) -> None:
    write(
        root,
        {
            "cm.yaml": config_map("top"),
            "a/job.yaml": JOB,
            "a/cm.yaml": config_map("a"),
            "b/job.yaml": JOB + "---\n" + config_map("same file"),
            "b/cm.yaml": config_map("b"),
            "c/deep/job.yaml": JOB,
            "c/cm.yaml": config_map("c"),
            "d/job.yaml": JOB,
        },
    )
    bundle = loaded().bundle
    values = {path: value_of(bundle.config_map("nccl", "", job_of(bundle, path))) for path in ("a", "b", "c", "d")}
    assert values == {"a": "a", "b": "same file", "c": "c", "d": "top"}
    assert bundle.unresolved == []


def test_equally_near_objects_that_differ_are_unknown(root: Path) -> None:
    write(root, {"job.yaml": JOB, "prod/cm.yaml": config_map("WARN"), "dev/cm.yaml": config_map("INFO")})
    bundle = loaded().bundle
    job = job_of(bundle)
    found = bundle.find("", "ConfigMap", "nccl", "", job, job.place)
    assert isinstance(found, Unknown)
    assert "differ" in found.reason
    assert [(item.what, item.place, item.object) for item in bundle.unresolved] == [("ConfigMap nccl", job.place, job)]


def test_equally_near_objects_that_agree_are_one(root: Path) -> None:
    write(root, {"job.yaml": JOB, "prod/cm.yaml": config_map("WARN"), "dev/cm.yaml": config_map("WARN")})
    bundle = loaded().bundle
    found = bundle.find("", "ConfigMap", "nccl", "", job_of(bundle))
    assert isinstance(found, KubeObject) and found.file.shown == "dev/cm.yaml"


def test_a_duplicate_in_one_file_that_differs_is_unknown(root: Path) -> None:
    write(root, {"job.yaml": JOB + "---\n" + config_map("a") + "---\n" + config_map("b")})
    bundle = loaded().bundle
    assert isinstance(bundle.config_map("nccl", "", job_of(bundle)), Unknown)


@pytest.mark.parametrize(
    ("own", "other", "found"),
    [("", "", True), ("ml", "", True), ("", "ml", True), ("ml", "ml", True), ("ml", "web", False)],
)
def test_namespaces_match_where_one_is_missing(root: Path, own: str, other: str, found: bool) -> None:
    write(root, {"job.yaml": JOB, "cm.yaml": config_map("x", namespace=other)})
    bundle = loaded().bundle
    assert isinstance(bundle.config_map("nccl", own, job_of(bundle)), ConfigMapData) is found


def test_the_exact_namespace_wins(root: Path) -> None:
    write(root, {"job.yaml": JOB, "a.yaml": config_map("any"), "b.yaml": config_map("ml", namespace="ml")})
    bundle = loaded().bundle
    assert value_of(bundle.config_map("nccl", "ml", job_of(bundle))) == "ml"


def test_groups_are_told_apart(root: Path) -> None:
    write(root, {"a.yaml": JOB + "---\n" + JOB.replace("batch/v1", "batch.volcano.sh/v1alpha1")})
    bundle = loaded().bundle
    assert len(bundle.by_kind(None, "Job")) == 2
    assert len(bundle.by_kind("batch.volcano.sh", "Job")) == 1
    volcano = bundle.find("batch.volcano.sh", "Job", "train", None, bundle.objects[0])
    assert volcano is bundle.objects[1]


def test_a_reference_to_nothing_is_recorded_once(root: Path) -> None:
    write(root, {"job.yaml": JOB})
    bundle = loaded().bundle
    job = job_of(bundle)
    for _ in range(2):
        assert bundle.find("", "ConfigMap", "nccl", "", job, job.place) is None
        assert isinstance(bundle.config_map("nccl", "", job, job.place), Unknown)
    assert [(item.what, item.reason) for item in bundle.unresolved] == [
        ("ConfigMap nccl", "it is not in the given paths")
    ]


@pytest.mark.parametrize("name", ["${NAME}", "{{ .Values.name }}"])
def test_a_templated_name_is_unknown(root: Path, name: str) -> None:
    write(root, {"job.yaml": JOB})
    bundle = loaded().bundle
    assert isinstance(bundle.find("", "ConfigMap", name, "", job_of(bundle)), Unknown)


def test_what_a_secret_and_a_config_map_hold(root: Path) -> None:
    write(
        root,
        {
            "all.yaml": JOB
            + "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: eA==, b: eA==}\n"
            + "stringData: {a: x, c: y}\n"
            + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: x, l: [1]}\nbinaryData: {b: eA==}\n"
            + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: t}\ndata: '{{ .Values.x }}'\n"
            + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: e}\ndata:\n"
        },
    )
    bundle = loaded().bundle
    job = job_of(bundle)
    secret, data = bundle.secret("s", "", job), bundle.config_map("c", "", job)
    assert isinstance(secret, ConfigMapData) and isinstance(data, ConfigMapData)
    assert ({k: v.text for k, v in secret.entries.items()}, secret.opaque) == ({"a": "x", "c": "y"}, {"b"})
    assert ({k: v.text for k, v in data.entries.items()}, data.opaque) == ({"a": "x"}, {"b", "l"})
    assert isinstance(bundle.config_map("t", "", job), Unknown)
    empty = bundle.config_map("e", "", job)
    assert isinstance(empty, ConfigMapData) and empty.entries == {}


# Outside the given paths


def test_a_reference_is_followed_to_the_nearest_folder_within_git(root: Path) -> None:
    write(
        root,
        {
            ".git/HEAD": "x",
            "cm.yaml": config_map("top"),
            "jobs/a/job.yaml": JOB,
            "jobs/cm.yaml": config_map("jobs") + "---\n" + config_map("x", "more"),
            "jobs/a/other.yaml": config_map("x", "nccl-other"),
            "jobs/b/cm.yaml": config_map("sibling"),
        },
    )
    bundle = loaded("jobs/a/job.yaml").bundle
    job = job_of(bundle)
    found = bundle.config_map("nccl", "", job)
    assert value_of(found) == "jobs"
    assert isinstance(found, ConfigMapData)
    assert (found.object.file.shown, found.object.given) == ("jobs/cm.yaml", False)
    assert described(bundle) == ["jobs/a/job.yaml: Job train"]
    assert bundle.by_kind("", "ConfigMap") == []
    assert value_of(bundle.config_map("more", "", job)) == "x"
    assert bundle.find("", "ConfigMap", "missing", "", job) is None


def test_without_git_nothing_outside_is_read(root: Path) -> None:
    write(root, {"cm.yaml": config_map("top"), "a/job.yaml": JOB, "a/cm.yaml": config_map("a")})
    bundle = loaded("a/job.yaml").bundle
    assert isinstance(bundle.config_map("nccl", "", job_of(bundle)), Unknown)
    bundle = loaded("a").bundle
    assert value_of(bundle.config_map("nccl", "", job_of(bundle))) == "a"


def test_nothing_is_read_for_standard_input(root: Path) -> None:
    write(root, {".git/HEAD": "x", "cm.yaml": config_map("top")})
    bundle = loaded("-", stdin=JOB).bundle
    assert isinstance(bundle.config_map("nccl", "", job_of(bundle)), Unknown)


def test_a_broken_file_outside_is_no_finding(root: Path) -> None:
    write(
        root, {".git/HEAD": "x", "job.yaml": JOB, "cm.yaml": "kind: ConfigMap\nname: nccl\na: [\n", "b.yaml": b"\xff\0"}
    )
    outcome = loaded("job.yaml")
    assert isinstance(outcome.bundle.config_map("nccl", "", job_of(outcome.bundle)), Unknown)
    assert outcome.problems == []


def test_broken_files_without_objects_are_counted_and_no_finding(root: Path) -> None:
    broken = "jobs:\n  slurm:\n    run: |\n      echo 'a\n'\n  more: [\n"
    write(root, {"job.yaml": JOB, "ci.yml": broken, "node.yaml": "#cloud-config\nruncmd: [\n"})
    outcome = loaded(".")
    assert [problem.place.source.path for problem in outcome.problems] == ["node.yaml"]
    assert outcome.skipped == {"no Kubernetes object, and not valid YAML": 1}
    assert [problem.place.source.path for problem in loaded("ci.yml").problems] == ["ci.yml"]


def test_scripts_beside_and_above_are_read_on_demand(root: Path) -> None:
    write(
        root,
        {
            ".git/HEAD": "x",
            "slurm/job.sbatch": "#SBATCH -N 2\nsrun bash scripts/train.sh\n",
            "scripts/train.sh": "top\n",
            "slurm/env.sh": "beside\n",
            "env.sh": "above\n",
            "blob.sh": b"\0\0\0\xff",
        },
    )
    write(root.parent, {"outside.sh": "secret\n"})
    bundle = loaded("slurm/job.sbatch").bundle
    (script,) = bundle.scripts
    read = bundle.files_near(script.file)
    texts = {path: found.text for path in ("scripts/train.sh", "env.sh", "./env.sh") if (found := read(path))}
    assert texts == {"scripts/train.sh": "top\n", "env.sh": "beside\n", "./env.sh": "beside\n"}
    for path in ("missing.sh", "/etc/passwd", "~/x", "../../outside.sh", "blob.sh", "", "scripts", "a\0b"):
        assert read(path) is None
    found = read("scripts/train.sh")
    assert found is not None and found.place(0, 3).source.path == "scripts/train.sh"


def test_a_copy_on_another_machine_is_read_by_the_end_of_its_path(root: Path) -> None:
    texts = {
        "run.sh": "beside\n",
        "data.yaml": "a: 1\n",
        "deep/go.sh": "deeper\n",
        "job.sbatch": "#SBATCH -N 2\nsrun x\n",
    }
    write(root, {".git/HEAD": "x", "a/b/fit.py": "below\n", **{f"jobs/{name}": text for name, text in texts.items()}})
    write(root.parent, {"outside.sh": "secret\n"})
    bundle = loaded("jobs/job.sbatch").bundle
    (script,) = bundle.scripts
    read = {
        path: found.text
        for path in ("/lustre/run.sh", "~/run.sh", "\ue000/run.sh", "/x/jobs/run.sh", "/home/me/other/a/b/fit.py")
        if (found := bundle.text_of_copy(path, script.file)) is not None
    }
    assert list(read.values()) == ["beside\n"] * 4 + ["below\n"]
    for path in ("run.sh", "/usr/local/bin/run.sh", "/lustre/fit.py", "/lustre/go.sh", "/lustre/data.yaml", "/none.py"):
        assert bundle.text_of_copy(path, script.file) is None, path
    assert bundle.text_of_copy("/x/../../outside.sh", script.file) is None


def test_a_checkout_on_another_machine_is_read_by_the_name_of_the_repository(root: Path) -> None:
    write(root, {".git/HEAD": "x", "slurm/job.sbatch": "#SBATCH -N 2\nsrun x\n", "env/start.sh": "here\n"})
    write(root.parent, {"outside.sh": "secret\n"})
    bundle = loaded("slurm/job.sbatch").bundle
    (script,) = bundle.scripts
    for before in ("", "/scratch/me/", "\ue000/code/", f"/{root.name}/"):
        found = bundle.text_in_checkout(f"{before}{root.name}/env/start.sh", script.file)
        assert found is not None and found.text == "here\n", before
    for path in ("/scratch/other/env/start.sh", f"/{root.name}/start.sh", f"/{root.name}/../outside.sh", root.name):
        assert bundle.text_in_checkout(path, script.file) is None


def test_the_schemas_of_custom_resources_are_not_read(root: Path) -> None:
    schema = "apiVersion: apiextensions.k8s.io/v1\r\nkind: CustomResourceDefinition\r\nspec:\r\n" + "  # x\r\n" * 500
    write(root, {"all.yaml": config_map("x") + "---\n" + schema + "---\n" + JOB})
    outcome = loaded("all.yaml")
    assert described(outcome.bundle) == ["all.yaml: ConfigMap nccl", "all.yaml: Job train"]
    job = job_of(outcome.bundle)
    assert "CustomResourceDefinition" in job.source.text
    assert job.source.text[job.place.span.start :].startswith("apiVersion: batch/v1")
    assert job.place.start.line == 510
