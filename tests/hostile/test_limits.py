"""Every limit is a finding, and stands in the documentation as it is in the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from running import ROOT, job, lint, lint_file

from kube_gaplint.text import limits
from kube_gaplint.text.limits import Limit

LIMITS = [value for value in vars(limits).values() if isinstance(value, Limit)]
PAGE = (ROOT / "docs/limits.md").read_text()


def test_the_page_names_every_limit() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .+ \|$", PAGE, re.M)
    documented = {of: most for of, most in rows if most != "At most"}
    assert documented == {limit.of: limit.shown for limit in LIMITS}


def wrapped(levels: int) -> str:
    """A job in lists in lists."""
    inner = "\n".join(f"    {line}" for line in job().splitlines())
    text = f"apiVersion: v1\nkind: List\nitems:\n  -\n{inner}\n"
    for _ in range(levels - 1):
        body = "\n".join(f"    {line}" for line in text.splitlines())
        text = f"apiVersion: v1\nkind: List\nitems:\n  -\n{body}\n"
    return text


def templates(count: int) -> str:
    pods = "".join(
        f"    g{n}: {{spec: {{containers: [{{name: a, image: b, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}]}}}}\n"
        for n in range(count)
    )
    return f"apiVersion: example.com/v1\nkind: Sweep\nmetadata: {{name: s}}\nspec:\n  groups:\n{pods}"


INPUTS = {
    limits.WRAPPING: ("job.yaml", lambda: wrapped(12)),
    limits.TEMPLATES: ("job.yaml", lambda: templates(60)),
    limits.PARTS: (
        "job.yaml",
        lambda: templates(1) + "  more:\n" + "".join(f"    k{n}: {{a: b}}\n" for n in range(30_000)),
    ),
    limits.SUPPRESSIONS: ("job.yaml", lambda: job() + "# gaplint: ignore[NCCL001] why\n" * 3_000),
    limits.SCRIPT: ("job.yaml", lambda: job(script="echo x\n" * 40_000)),
    limits.COMMANDS: ("job.yaml", lambda: job(script="echo x\n" * 30_000)),
    limits.PROGRAMS: ("job.yaml", lambda: job(script="".join(f"run{n} a b\n" for n in range(600)))),
    limits.WORDS: ("job.yaml", lambda: job(script=f"echo {'x ' * 90_000}")),
    limits.EXPANDED: ("job.yaml", lambda: job(script=f"a={'x' * 10_000}\n" + 'run "$a$a$a$a$a$a$a$a"\n' * 100)),
    limits.SHELL_DEPTH: ("job.yaml", lambda: job(script="if x; then\n" * 90 + "fi\n" * 90)),
}
"""For limits that no other row of the table of hostile inputs meets: a file that does."""

ELSEWHERE = {limits.FILE, limits.DEPTH, limits.NODES, limits.EXPANSION, limits.BROKEN}  # test_manifests
OF_SEVERAL_FILES = {limits.PYTHON, limits.BUILD_STEPS, limits.BUILD, limits.BUILDS, limits.BUILD_OBJECTS, limits.BASES}


def test_every_limit_is_met_somewhere() -> None:
    assert set(LIMITS) == INPUTS.keys() | ELSEWHERE | OF_SEVERAL_FILES


@pytest.mark.parametrize("limit", INPUTS, ids=lambda limit: limit.of)
def test_a_limit_is_a_finding(limit: Limit, tmp_path: Path) -> None:
    name, make = INPUTS[limit]
    found = lint_file(tmp_path, make(), name)
    assert limit.message in found.messages("GAP002")
    assert {finding["severity"] for finding in found.report["findings"] if finding["code"] == "GAP002"} == {"error"}
    if limit is limits.SCRIPT:
        lines = [one["location"]["line"] for one in found.report["findings"] if one["code"] == "GAP002"]
        assert min(lines) > 10_000, "where reading stopped"


def test_a_long_program_beside_the_script(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n" * 70_000)
    (tmp_path / "job.sbatch").write_text("#!/bin/bash\n#SBATCH --gpus-per-node=8\npython train.py\n")
    (finding,) = [one for one in lint(".", folder=tmp_path).report["findings"] if one["code"] == "GAP002"]
    assert finding["message"] == limits.PYTHON.message
    assert finding["location"]["file"] == "train.py"


def kustomized(folder: Path, files: dict[str, str]) -> list[str]:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return lint(".", folder=folder).messages("GAP002")


def test_builds_over_a_limit(tmp_path: Path) -> None:
    configs = "".join(f"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c{n}}}\n" for n in range(5_100))
    files = {"kustomization.yaml": "resources: [job.yaml, many.yaml]\n", "job.yaml": job(), "many.yaml": configs}
    assert limits.BUILD_OBJECTS.message in kustomized(tmp_path / "objects", files)
    many = "- {target: {kind: ConfigMap, name: none}, patch: 'metadata: {name: x}'}\n" * 120
    files = {"kustomization.yaml": f"resources: [job.yaml, many.yaml]\npatches:\n{many}", "job.yaml": job()}
    configs = configs[: configs.index("{name: c4900}")]
    assert limits.BUILD_STEPS.message in kustomized(tmp_path / "steps", {**files, "many.yaml": configs})
    files = {f"b{n}/kustomization.yaml": f"resources: [../b{n + 1}]\n" for n in range(60)}
    files["b60/kustomization.yaml"] = "resources: [job.yaml]\n"
    assert limits.BASES.message in kustomized(tmp_path / "bases", {**files, "b60/job.yaml": job()})
    copies = "".join(f"- {{op: copy, from: /spec, path: /spec/x{number}}}\n" for number in range(60))
    files = {
        "kustomization.yaml": "resources: [job.yaml]\npatches: [{target: {kind: Job}, path: p.yaml}]\n",
        "job.yaml": job(),
        "p.yaml": copies,
    }
    assert limits.BUILD.message in kustomized(tmp_path / "one", files)
    files = {f"k{n}/{name}": text for n in range(12) for name, text in files.items()}
    found = kustomized(tmp_path / "all", files)
    assert found.count(limits.BUILD.message) >= 9
    assert limits.BUILDS.message in found


def test_kustomizations_in_a_ring(tmp_path: Path) -> None:
    files = {
        "a/kustomization.yaml": "resources: [../b, job.yaml]\n",
        "a/job.yaml": job(),
        "b/kustomization.yaml": "resources: [../a]\n",
    }
    (message,) = kustomized(tmp_path, files)
    assert "include one another in a ring" in message
