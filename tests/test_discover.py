"""The walk: what it takes, what it passes over and why, and what it never opens."""

from __future__ import annotations

import os
import signal
import string
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from kube_gaplint import discover as module
from kube_gaplint import git_patterns
from kube_gaplint.discover import Discovery, Exclusion, PathError, discover

JOB = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec: {template: {spec: {image: torch}}}\n"
PYTORCH = "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: t}\n"
SERVICE = "apiVersion: v1\nkind: Service\nmetadata:\n  name: web\n"
BATCH = "#!/bin/bash\n#SBATCH --nodes=4\nsrun python train.py\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            path.write_text(content, encoding="utf-8")


def shown(found: Discovery, *interests: str) -> list[str]:
    return [c.file.shown for c in found.candidates if not interests or c.interest in interests]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder that is no git repository."""
    folder = tmp_path / "repo"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


# What is taken


def test_candidates_come_in_a_stable_order_with_paths_as_given(root: Path) -> None:
    write(root, {"b/job.yaml": JOB, "a.yml": PYTORCH, "b/a.json": '{"apiVersion": "batch/v1", "kind": "JobSet"}'})
    assert shown(discover(["."])) == ["a.yml", "b/a.json", "b/job.yaml"]
    assert shown(discover(["b"])) == ["b/a.json", "b/job.yaml"]
    assert shown(discover(["./b/"])) == ["./b/a.json", "./b/job.yaml"]
    assert shown(discover([str(root)])) == [f"{root}/a.yml", f"{root}/b/a.json", f"{root}/b/job.yaml"]
    assert shown(discover(["b", "a.yml"])) == ["b/a.json", "b/job.yaml", "a.yml"]


def test_a_file_given_twice_is_read_once(root: Path) -> None:
    write(root, {"job.yaml": JOB})
    found = discover([".", "job.yaml", "./job.yaml", str(root / "job.yaml")])
    assert shown(found) == ["job.yaml"]
    assert found.files == 1


def test_a_folder_given_twice_is_walked_once(root: Path) -> None:
    write(root, {"sub/job.yaml": JOB, "sub/notes.txt": "x"})
    found = discover(["sub", ".", "sub/"])
    assert (shown(found), found.files, found.skipped) == (["sub/job.yaml"], 2, {"not YAML or a batch script": 1})


@pytest.mark.parametrize(
    "name", ["new\nline.yaml", "esc\x1b[31m.yaml", "caf\udce9.yaml", "white space.yaml", "-x.yaml"]
)
def test_any_file_name_is_read(root: Path, name: str) -> None:
    write(root, {name: JOB})
    (candidate,) = discover(["."]).candidates
    assert candidate.file.shown == name
    assert [c.file.shown for c in discover([f"./{name}"]).candidates] == [f"./{name}"]


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("a.sbatch", "srun python train.py\n", "script"),
        ("a.slurm", "echo\n", "script"),
        ("a.sh", BATCH, "script"),
        ("run", BATCH, "script"),
        ("dos.sh", BATCH.replace("\n", "\r\n"), "script"),
        ("slurm.conf", "ClusterName=x\n", "slurm-conf"),
        ("user-data.yaml", "#cloud-config\npackage_upgrade: true\n", "yaml"),
        ("values.yaml", "slurm:\n  extraConf: [KillOnBadExit=1]\n", "yaml"),
        ("jobs.yaml", "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: |\n    #SBATCH -N 4\n", "yaml"),
    ],
)
def test_files_are_taken_by_name_and_content(root: Path, name: str, content: str, form: str) -> None:
    write(root, {name: content})
    (candidate,) = discover(["."]).candidates
    assert (candidate.form, candidate.interest) == (form, "judged")


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("notes.txt", JOB, "not YAML or a batch script"),
        ("setup.sh", "#!/bin/bash\napt-get install x\n", "not YAML or a batch script"),
        ("LICENSE", "Apache\n", "not YAML or a batch script"),
        ("tool", "#!/usr/bin/env python3\nprint()\n", "not YAML or a batch script"),
        ("compose.yaml", "services: {web: {image: nginx}}\n", "no training, node or Slurm object"),
        ("package.json", '{"name": "gpu-training"}', "no training, node or Slurm object"),
        ("values.yaml", "replicas: 3\nimage: torch\n", "no training, node or Slurm object"),
        ("role.yaml", "apiVersion: v1\nkind: Role\n# gpu\n", "no training, node or Slurm object"),
        ("web.yaml", "apiVersion: apps/v1\nkind: Deployment\n", "no training, node or Slurm object"),
        ("job.yaml.j2", JOB, "template that is not filled in"),
        ("blob.yaml", b"apiVersion: v1\nkind: Job\n\x00\x01\x02gpu", "binary"),
    ],
)
def test_what_is_passed_over_is_counted_by_reason(root: Path, name: str, content: str | bytes, reason: str) -> None:
    write(root, {name: content})
    found = discover(["."])
    assert found.candidates == []
    assert found.skipped == {reason: 1}
    assert found.files == 1


def test_supporting_files_are_kept_by_their_names_only(root: Path) -> None:
    write(root, {"svc.yaml": SERVICE, "pdb.yaml": "apiVersion: policy/v1\nkind: PodDisruptionBudget\n"})
    found = discover(["."])
    assert [(c.interest, c.names, c.data) for c in found.candidates] == [
        ("evidence", frozenset(), b""),
        ("named", frozenset({"web"}), b""),
    ]


@pytest.mark.parametrize("codec", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_relevance_is_seen_in_every_encoding(root: Path, codec: str) -> None:
    write(root, {"job.yaml": JOB.encode(codec), "x.sh": BATCH.encode(codec)})
    assert shown(discover(["."])) == ["job.yaml", "x.sh"]


@pytest.mark.parametrize(
    "kind", ['"kind":"PyTorchJob"', '"kind" : "PyTorchJob" }', "kind: 'PyTorchJob'", "kind: PyTorchJob # x"]
)
def test_kinds_are_seen_in_every_notation(kind: str) -> None:
    assert module.interest_of(f"apiVersion: kubeflow.org/v1\n{kind}\n".encode()) == "judged"


@pytest.mark.parametrize(
    "mark",
    [
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job",
        "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {resourceClaims: [{name: whole}]}}}",
        "apiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {containers: [{command: [mpiexec]}]}}}",
    ],
)
def test_jobs_are_seen_by_their_group_their_claims_and_their_launcher(mark: str) -> None:
    assert module.interest_of(f"{mark}\n".encode()) == "judged"


@pytest.mark.parametrize(
    ("part", "interest"),
    [
        ("hostPID: true", "judged"),
        ('"hostPID": true', "judged"),
        ("command: [systemctl, restart, containerd]", "judged"),
        ("volumes: [{name: host, hostPath: {path: /}}]", "judged"),
        ("volumes:\n- name: host\n  hostPath:\n    path: /\n", "judged"),
        ("volumes: [{name: host, hostPath: {path: /var/log}}]", None),
        ("livenessProbe: {httpGet: {path: /}}", None),
    ],
)
def test_pods_that_work_on_their_hosts_are_seen_by_themselves(part: str, interest: str | None) -> None:
    assert module.interest_of(f"apiVersion: apps/v1\nkind: DaemonSet\n{part}\n".encode()) == interest


@pytest.mark.parametrize("head", ["", "apiVersion: v1\nkind: ConfigMap\n"])
def test_how_cards_are_shared_is_evidence(head: str) -> None:
    assert module.interest_of(f"{head}data:\n  any: |\n    sharing: {{timeSlicing: {{}}}}\n".encode()) == "evidence"


def test_a_named_file_is_judged_without_relevance(root: Path) -> None:
    write(root, {"web.yaml": "apiVersion: apps/v1\nkind: Deployment\n", "svc.yaml": SERVICE, "empty.yaml": ""})
    found = discover(["web.yaml", "svc.yaml", "empty.yaml"])
    assert [(c.interest, c.named) for c in found.candidates] == [("judged", True)] * 3


def test_a_named_file_with_another_ending_is_recognised_by_its_content(root: Path) -> None:
    write(root, {"job.txt": PYTORCH, "job.out": BATCH, "notes.md": "# gpu\n"})
    found = discover(["job.txt", "job.out", "notes.md"])
    assert [(c.file.shown, c.form) for c in found.candidates] == [("job.txt", "yaml"), ("job.out", "script")]
    assert found.skipped == {"not YAML or a batch script": 1}


# Named paths


@pytest.mark.parametrize("path", ["missing.yaml", "missing/", "", "a\0b"])
@pytest.mark.usefixtures("root")
def test_a_missing_path_is_an_error(path: str) -> None:
    with pytest.raises(PathError):
        discover([path])


@pytest.mark.usefixtures("root")
def test_the_error_says_which_path_and_why() -> None:
    with pytest.raises(PathError) as caught:
        discover([".", "nope.yaml"])
    assert str(caught.value) == "nope.yaml: no such file or folder"


def test_a_named_fifo_and_a_device_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe.yaml")
    for path in ("pipe.yaml", "/dev/null", "/dev/zero"):
        with pytest.raises(PathError, match="neither a file nor a folder"):
            discover([path])


def deny(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Refuse to open one file; file modes do not bind the superuser."""
    real_open = os.open

    def open_or_deny(path: str, *rest: object, **named: object) -> int:
        if path.endswith(f"/{name}"):
            raise PermissionError(13, "Permission denied", path)
        return real_open(path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(os, "open", open_or_deny)


def test_a_named_unreadable_file_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, {"job.yaml": JOB})
    deny(monkeypatch, "job.yaml")
    with pytest.raises(PathError, match="permission denied"):
        discover(["job.yaml"])


def test_an_unreadable_file_found_by_walking_is_reported_and_the_others_are_judged(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {"a.yaml": JOB, "b.yaml": JOB})
    deny(monkeypatch, "a.yaml")
    found = discover(["."])
    assert shown(found) == ["b.yaml"]
    assert [(e.path, e.reason) for e in found.errors] == [("a.yaml", "permission denied")]


def test_an_unreadable_folder_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(root, {"sub/a.yaml": JOB, "b.yaml": JOB})
    real_scandir = os.scandir

    def scandir(path: str) -> object:
        if path.endswith("/sub"):
            raise PermissionError(13, "Permission denied", path)
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", scandir)
    found = discover(["."])
    assert shown(found) == ["b.yaml"]
    assert [(e.path, e.reason) for e in found.errors] == [("sub", "permission denied")]


def test_a_fifo_on_the_way_is_counted_and_never_opened(root: Path) -> None:
    os.mkfifo(root / "pipe.yaml")
    write(root, {"a.yaml": JOB})
    found = discover(["."])
    assert shown(found) == ["a.yaml"]
    assert found.skipped == {"not a regular file": 1}


def test_a_large_file_is_not_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, beginning in (("big.yaml", JOB), ("data.yaml", "a: 1\n")):
        with (root / name).open("wb") as file:
            file.write(beginning.encode())
            file.truncate(module.MAX_BYTES + 1)
    read = []
    real_read = os.read
    monkeypatch.setattr(os, "read", lambda fd, count: read.append(count) or real_read(fd, count))
    found = discover(["."])
    assert found.skipped == {"larger than 10 MiB": 1}
    assert [(one.file.shown, one.problem) for one in found.candidates] == [("big.yaml", "larger than 10 MiB")]
    (candidate,) = discover(["data.yaml"]).candidates
    assert candidate.problem == "larger than 10 MiB"
    assert sum(read) < module.MAX_BYTES / 10, "only the beginning is looked at"


# Links


def test_links_are_never_followed_out_of_the_folder(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"job.yaml": JOB, "sub/job.yaml": JOB})
    (root / "file.yaml").symlink_to(tmp_path / "outside/job.yaml")
    (root / "folder").symlink_to(tmp_path / "outside")
    found = discover(["."])
    assert found.candidates == []
    assert found.skipped == {"symbolic link out of the given folder": 2}


def test_loops_and_dangling_links_end(root: Path) -> None:
    write(root, {"a/job.yaml": JOB})
    (root / "a/self").symlink_to(root / "a")
    (root / "a/up").symlink_to("..")
    (root / "loop.yaml").symlink_to("loop.yaml")
    (root / "gone.yaml").symlink_to("nothing.yaml")
    found = discover(["."])
    assert shown(found) == ["a/job.yaml"]
    assert found.skipped == {"symbolic link": 4}


def test_a_link_to_a_file_within_is_judged_once(root: Path) -> None:
    write(root, {"real.yaml": JOB, "job.yaml.d/current": JOB})
    (root / "a.yaml").symlink_to("real.yaml")
    (root / "b.yaml").symlink_to("job.yaml.d/current")
    found = discover(["."])
    assert shown(found) == ["real.yaml", "b.yaml"]
    assert found.skipped == {"symbolic link": 1, "not YAML or a batch script": 1}


def test_a_named_link_is_followed(root: Path, tmp_path: Path) -> None:
    write(tmp_path / "outside", {"job.yaml": JOB})
    (root / "job.yaml").symlink_to(tmp_path / "outside/job.yaml")
    (root / "folder").symlink_to(tmp_path / "outside")
    assert shown(discover(["job.yaml"])) == ["job.yaml"]
    assert shown(discover(["folder"])) == ["folder/job.yaml"]


# Git


def test_git_ignore_files_are_heeded_from_the_top_level_down(root: Path) -> None:
    write(
        root,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/info/exclude": "private.yaml\n",
            ".gitignore": "*.tmp.yaml\n/out/\n!keep.tmp.yaml\n",
            "a.yaml": JOB,
            "a.tmp.yaml": JOB,
            "keep.tmp.yaml": JOB,
            "private.yaml": JOB,
            "out/b.yaml": JOB,
            "sub/out/c.yaml": JOB,
            "sub/.gitignore": "/d.yaml\n!e.tmp.yaml\n",
            "sub/d.yaml": JOB,
            "sub/e.tmp.yaml": JOB,
            "sub/deep/d.yaml": JOB,
            ".git/hooks/x.yaml": JOB,
        },
    )
    expected = ["a.yaml", "keep.tmp.yaml", "sub/e.tmp.yaml", "sub/deep/d.yaml", "sub/out/c.yaml"]
    found = discover(["."])
    assert shown(found) == expected
    assert found.skipped["ignored by git"] == 4
    assert shown(discover(["sub"])) == ["sub/e.tmp.yaml", "sub/deep/d.yaml", "sub/out/c.yaml"]


def test_patterns_above_the_top_level_do_not_count(root: Path) -> None:
    write(root, {".gitignore": "*.yaml\n", "inner/.git/HEAD": "x", "inner/a.yaml": JOB})
    assert shown(discover(["inner"])) == ["inner/a.yaml"]
    assert shown(discover(["."])) == ["inner/a.yaml"]


def test_what_is_named_is_judged_though_git_ignores_it(root: Path) -> None:
    write(root, {".git/HEAD": "x", ".gitignore": "out/\n*.bak.yaml\n", "out/a.yaml": JOB, "b.bak.yaml": JOB})
    assert shown(discover(["out", "b.bak.yaml"])) == ["out/a.yaml", "b.bak.yaml"]


def test_a_folder_that_is_ignored_is_not_opened_even_if_a_file_in_it_is_taken_in_again(root: Path) -> None:
    write(root, {".git/HEAD": "x", ".gitignore": "out/\n!out/a.yaml\n", "out/a.yaml": JOB})
    found = discover(["."])
    assert found.candidates == []
    assert found.skipped == {"ignored by git": 1, "not YAML or a batch script": 1}


def test_folders_of_tools_are_passed_over(root: Path) -> None:
    write(root, {"node_modules/x/job.yaml": JOB, ".venv/job.yaml": JOB, ".github/job.yaml": JOB})
    found = discover(["."])
    assert shown(found) == [".github/job.yaml"]
    assert found.skipped == {"folder of a tool (node_modules, .venv …)": 2}


def test_excluded_patterns_apply_to_the_walk_only(root: Path) -> None:
    write(root, {"a/job.yaml": JOB, "b/job.yaml": JOB, "b/test-job.yaml": JOB})
    found = discover(["."], exclude=[Exclusion(("/a/", "test-*"))])
    assert shown(found) == ["b/job.yaml"]
    assert found.skipped == {"excluded by the configuration": 2}
    assert shown(discover(["a/job.yaml"], exclude=[Exclusion(("/a/",))])) == ["a/job.yaml"]
    assert shown(discover(["b"], exclude=[Exclusion(("/b/job.yaml",), str(root))])) == ["b/test-job.yaml"]


_names = st.text(string.ascii_lowercase[:4], min_size=1, max_size=2)
_patterns = st.lists(
    st.builds(
        "".join,
        st.lists(
            st.sampled_from(["a", "b", "ab", "*", "**", "**/", "/", "?", "[ab]", ".yaml", "!", "#", " ", "\\"]),
            max_size=6,
        ),
    ),
    max_size=5,
)


@given(_patterns, st.lists(_names, min_size=1, max_size=4), st.booleans(), st.booleans())
def test_the_quick_tests_change_no_verdict(patterns: list[str], parts: list[str], yaml: bool, is_folder: bool) -> None:
    lines, _ = git_patterns.usable(patterns)
    if yaml:
        parts[-1] += ".yaml"
    path = "/".join(parts)
    rule = module._Ignore("/base", lines)
    expected = GitIgnoreSpec.from_lines(lines).check_file(path + ("/" if is_folder else "")).include
    parents_are_taken = all(
        not GitIgnoreSpec.from_lines(lines).match_file("/".join(parts[:i]) + "/") for i in range(1, len(parts))
    )
    if parents_are_taken:  # the walk never asks for what lies in an ignored folder
        assert bool(rule.verdict(path, parts[-1], is_folder=is_folder)) == bool(expected)


def test_a_walk_that_is_shared_finds_the_same(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files, links, errors, charts and ignored files, in folders that processes take as they come."""
    files = {".gitignore": "*.log\nbuild/\n"}
    for number in range(12):
        files |= {
            f"f{number:02}/job.yaml": JOB,
            f"f{number:02}/inner/deep/service.yaml": SERVICE,
            f"f{number:02}/build/job.yaml": JOB,
            f"f{number:02}/a.log": "",
            f"f{number:02}/.gitignore": "b.yaml\n" if number % 2 else "c.yaml\n",
            f"f{number:02}/b.yaml": JOB,
            f"f{number:02}/c.yaml": PYTORCH,
            f"f{number:02}/chart/Chart.yaml": "apiVersion: v2\nname: x\n",
            f"f{number:02}/chart/templates/job.yaml": PYTORCH + "spec: {{ .Values.spec }}\n",
        }
    write(root, files)
    for number in range(12):
        (root / f"f{number:02}" / "link.yaml").symlink_to(f"../f{(number + 5) % 12:02}/b.yaml")
    (root / "f03" / "out.yaml").symlink_to("/etc/hostname")

    def told(found: Discovery) -> tuple[object, ...]:
        return (
            [(one.file, one.interest, one.data) for one in found.candidates],
            found.skipped, found.errors, found.charts, found.files, found.passed_over, found.roots,
        )  # fmt: skip

    alone = told(discover(["f04/job.yaml", "."]))
    monkeypatch.setattr(module, "_LEAST", 20)
    used: list[int] = []
    for jobs in (2, 4):
        shared = discover(["f04/job.yaml", "."], jobs=jobs, meanwhile=lambda: used.append(1))
        assert told(shared) == alone
    assert used == [1, 1]


def test_folders_of_a_process_that_was_ended_are_walked_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(root, {f"f{number:02}/{name}.yaml": JOB for number in range(12) for name in "abc"})
    monkeypatch.setattr(module, "_LEAST", 5)
    here, piece = os.getpid(), module._Walk._piece

    def dies_elsewhere(walk: module._Walk, folder: module._Folder) -> module._Piece:
        if os.getpid() != here:
            os.kill(os.getpid(), signal.SIGKILL)
        return piece(walk, folder)

    monkeypatch.setattr(module._Walk, "_piece", dies_elsewhere)
    found = discover(["."], jobs=2, meanwhile=lambda: time.sleep(0.2))  # the other one takes the first folder
    assert shown(found) == [f"f{number:02}/{name}.yaml" for number in range(12) for name in "abc"]


# Templates


def chart(root: Path, at: str = "") -> None:
    write(
        root,
        {
            f"{at}Chart.yaml": "apiVersion: v2\nname: x\n",
            f"{at}values.yaml": "image: torch\nkind: x\n",
            f"{at}templates/job.yaml": PYTORCH + "spec: {{ .Values.spec }}\n",
            f"{at}templates/sub/svc.yaml": SERVICE + "# {{ .Values.x }}\n",
            f"{at}templates/fixed.yaml": PYTORCH,
            f"{at}templates/_helpers.tpl": "{{ define }}",
        },
    )


def test_the_templates_of_a_chart_are_passed_over_with_the_command_to_run(root: Path) -> None:
    chart(root, "charts/train/")
    found = discover(["."])
    assert shown(found) == ["charts/train/templates/fixed.yaml"]
    assert found.skipped["Helm template"] == 2
    assert found.hints == ["charts/train is a Helm chart with 1 template: helm template charts/train | gaplint -"]


@pytest.mark.parametrize("path", ["templates", "templates/job.yaml", "templates/sub", "."])
def test_a_chart_is_known_from_within(root: Path, path: str) -> None:
    chart(root)
    found = discover([path])
    assert found.skipped["Helm template"] >= 1
    assert not [c for c in found.candidates if b"{{" in c.data]
    if path != "templates/sub":
        assert found.hints == [". is a Helm chart with 1 template: helm template . | gaplint -"]


def test_a_templates_folder_without_a_chart_is_ordinary(root: Path) -> None:
    write(root, {"templates/job.yaml": PYTORCH + "spec: {image: '{{ x }}'}\n"})
    assert shown(discover(["."])) == ["templates/job.yaml"]


# Standard input


def test_standard_input_is_one_source() -> None:
    (candidate,) = discover(["-"], stdin=JOB.encode()).candidates
    assert (candidate.file.shown, candidate.file.path, candidate.form) == ("<stdin>", "", "yaml")
    (candidate,) = discover(["-"], stdin=JOB.encode(), stdin_filename="x/job.yaml").candidates
    assert candidate.file.shown == "x/job.yaml"


@pytest.mark.parametrize(
    ("data", "filename"), [(BATCH, ""), ("#SBATCH -N 2\nsrun x\n", ""), ("srun x\n", "a.sbatch"), ("#!/bin/sh\n", "")]
)
def test_standard_input_may_be_a_batch_script(data: str, filename: str) -> None:
    (candidate,) = discover(["-"], stdin=data.encode(), stdin_filename=filename).candidates
    assert candidate.form == "script"


def test_standard_input_that_is_not_there_is_an_error() -> None:
    with pytest.raises(PathError):
        discover(["-"])


# References


def test_a_reference_never_leaves_the_root(root: Path, tmp_path: Path) -> None:
    write(root, {".git/HEAD": "x", "sub/a.yaml": JOB, "b.yaml": JOB})
    write(tmp_path, {"secret.yaml": JOB})
    (root / "sub/link.yaml").symlink_to(tmp_path / "secret.yaml")
    (candidate,) = discover(["sub/a.yaml"]).candidates
    beside = candidate.file.beside("../b.yaml")
    assert beside is not None
    assert (beside.shown, beside.path) == ("b.yaml", os.path.realpath("b.yaml"))
    assert module.read_file(beside) == JOB.encode()
    for path in ("../../secret.yaml", "/etc/passwd", "link.yaml", "a\0b"):
        assert candidate.file.beside(path) is None


def test_without_git_a_reference_stays_within_the_given_paths(root: Path) -> None:
    write(root, {"sub/a.yaml": JOB, "sub/b.yaml": JOB, "c.yaml": JOB})
    (named,) = discover(["sub/a.yaml"]).candidates
    assert named.file.beside("b.yaml") is None
    walked = discover(["sub"]).candidates[0]
    assert walked.file.beside("b.yaml") is not None
    assert walked.file.beside("../c.yaml") is None
