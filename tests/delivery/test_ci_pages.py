"""The recipes in docs/ci: files follow their schemas, and commands run as they stand there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from action_runner import PROJECT, read_action

PAGES = PROJECT / "docs" / "ci"
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
REVISION = "0123456789abcdef0123456789abcdef01234567"

JOB = """\
apiVersion: batch/v1
kind: Job
metadata: {name: pretrain}
spec:
  completions: 4
  parallelism: 4
  completionMode: Indexed
  backoffLimit: 0
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: train
        image: pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel
        command: [torchrun, --nnodes=4, --nproc-per-node=8, train.py]
        resources:
          limits: {nvidia.com/gpu: 8}
"""
SCRIPT = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun python train.py\n"


class Block(NamedTuple):
    page: str
    language: str
    text: str


def blocks(*languages: str) -> Iterator[Block]:
    for page in sorted(PAGES.glob("*.md")):
        for match in _BLOCK.finditer(page.read_text()):
            if match[1] in languages:
                yield Block(page.stem, match[1], match[2])


def named(found: Iterator[Block]) -> list[object]:
    return [pytest.param(block, id=f"{block.page}-{number}") for number, block in enumerate(found)]


def tool(name: str, *arguments: str | Path) -> None:
    command = Path(sys.executable).with_name(name)
    if not command.exists():
        pytest.skip(f"{name} is not installed")
    done = subprocess.run([command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == 0, done.stdout.decode()


SCHEMAS = {"github": "vendor.github-workflows", "gitlab": "vendor.gitlab-ci", "buildkite": "vendor.buildkite"}


@pytest.mark.parametrize("block", named(block for block in blocks("yaml") if block.page in SCHEMAS))
def test_files_of_ci_systems_follow_their_schemas(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "ci.yml"
    path.write_text(block.text)
    tool("check-jsonschema", "--builtin-schema", SCHEMAS[block.page], path)


@pytest.mark.parametrize("block", named(block for block in blocks("yaml") if block.page == "github"))
def test_workflows_are_safe_by_the_rules_of_zizmor(block: Block, tmp_path: Path) -> None:
    path = tmp_path / ".github" / "workflows" / "gaplint.yml"
    path.parent.mkdir(parents=True)
    path.write_text(block.text.replace("REVISION", REVISION))
    tool("zizmor", "--offline", "--no-progress", path)


@pytest.mark.parametrize("block", named(block for block in blocks("yaml") if block.page == "pre-commit"))
def test_files_of_pre_commit(block: Block, tmp_path: Path) -> None:
    if "repos:" in block.text:
        path = tmp_path / "config.yaml"
        path.write_text(block.text)
        tool("pre-commit", "validate-config", path)
    else:
        from kube_gaplint import config

        path = tmp_path / ".gaplint.yaml"
        path.write_text(block.text)
        assert config.load([], str(path)).fail_on == "error"


def test_the_manifest_of_the_hooks() -> None:
    tool("pre-commit", "validate-manifest", PROJECT / ".pre-commit-hooks.yaml")


def test_the_page_names_every_input_and_output_of_the_action() -> None:
    action, page = read_action(), (PAGES / "github.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)
    assert rows == list(action["inputs"])
    (told,) = re.findall(r"^Outputs: (.*?)\. ", page, re.MULTILINE | re.DOTALL)
    assert re.findall(r"`([\w-]+)`", told) == list(action["outputs"])


@pytest.mark.parametrize("block", named(blocks("sh", "bash")))
def test_scripts_parse(block: Block) -> None:
    subprocess.run(["bash", "-n"], input=block.text, text=True, check=True)


@pytest.fixture
def bench(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A repository, and programs of other makers that print what they would."""
    programs, repository = tmp_path / "bin", tmp_path / "repository"
    programs.mkdir()
    overlay = repository / "overlays" / "prod"
    overlay.mkdir(parents=True)
    (overlay / "job.yaml").write_text(JOB)
    (overlay / "kustomization.yaml").write_text("resources: [job.yaml]\n")
    (tmp_path / "script").write_text(SCRIPT)
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": []}).replace("[]", f"[{_as_json(JOB)}]")
    (tmp_path / "list").write_text(listed)
    paths = os.pathsep.join(str(PROJECT / name) for name in ("lint", "rules"))
    for name, body in (
        ("gaplint", f'PYTHONPATH="{paths}" exec "{sys.executable}" -m kube_gaplint "$@"'),
        ("kustomize", 'for last; do :; done; cat "$last/job.yaml"'),
        ("helm", f'echo "# Source: train/templates/job.yaml"; cat "{overlay}/job.yaml"'),
        ("argocd", f'cat "{overlay}/job.yaml"'),
        ("kubectl", f'case $1 in get) cat "{tmp_path}/list";; *) cat "{overlay}/job.yaml";; esac'),
        ("scontrol", f'cat "{tmp_path}/script"'),
    ):
        (programs / name).write_text(f"#!/bin/bash\n{body}\n")
        (programs / name).chmod(0o755)
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        **{f"GIT_{who}_{what}": "x@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    to_remote = ["update-ref", "refs/remotes/origin/main", "HEAD"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"], to_remote):
        subprocess.run(["git", *command], cwd=repository, env=environment, check=True)
    return repository, environment


def _as_json(manifest: str) -> str:
    from ruamel.yaml import YAML

    return json.dumps(YAML(typ="safe").load(manifest))


def commands() -> Iterator[object]:
    for block in blocks("sh"):
        lines = block.text.replace("\\\n", "").splitlines()
        if "worktree" in block.text:
            continue
        for line in lines:
            yield pytest.param(line, id=line[:40])


@pytest.mark.parametrize("command", list(commands()))
def test_commands_run_as_they_stand_there(command: str, bench: tuple[Path, dict[str, str]]) -> None:
    repository, environment = bench
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=repository,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == (0 if "never" in command or "EVICT" in command else 1), done.stdout
    assert "1 workload" in done.stdout


def test_what_a_change_brings_to_rendered_manifests(bench: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    (block,) = [block for block in blocks("sh") if "worktree" in block.text]
    script = block.text.replace("/tmp/", f"{tmp_path}/")
    repository, environment = bench
    second = JOB.replace("pretrain", "finetune")
    job = repository / "overlays" / "prod" / "job.yaml"
    job.write_text(f"# moved\n{JOB}---\n{second}")
    done = subprocess.run(
        ["bash", "-c", script], cwd=repository, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Job finetune" in done.stdout
    assert "Job pretrain" not in done.stdout


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in sorted(PAGES.glob("*.md"))])
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_shows_what_works() -> None:
    page = (PROJECT / "README.md").read_text()
    ids = re.findall(r"hook `([\w-]+)`|- id: ([\w-]+)|; `(gaplint-all)`", page)
    hooks = re.findall(r"^- id: (\S+)", (PROJECT / ".pre-commit-hooks.yaml").read_text(), re.MULTILINE)
    assert sorted("".join(one) for one in ids) == sorted(hooks)
    for target in _LINK.findall(page):
        assert (PROJECT / target).exists(), target
