"""Batch scripts that other scripts hold as here-documents, in containers and in files."""

from __future__ import annotations

from node_samples import bundle_of, value

from kube_gaplint.kinds import build
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.slurm import Batch

INNER = "#!/bin/bash\n#SBATCH --nodes=8\n#SBATCH --gpus-per-node=8\nsrun python train.py\n"


def batches(**files: str) -> list[Batch]:
    views = build(bundle_of(**files), Profile()).views
    return [view for view in views if isinstance(view, Batch)]


def job(script: str) -> str:
    lines = "".join(f"          {line}\n" for line in script.splitlines())
    return (
        "apiVersion: batch/v1\nkind: Job\nmetadata: {name: submit, namespace: slurm}\nspec:\n  template:\n    spec:\n"
        f"      containers:\n      - name: c\n        command: [bash, -c]\n        args:\n        - |\n{lines}"
    )


def test_read_by_sbatch_in_a_container() -> None:
    (found,) = batches(main=job(f"sbatch <<'EOF'\n{INNER}EOF\n"))
    assert found.multi_node
    assert found.subject.namespace == "slurm"
    assert [step.origin.place.start.line for step in found.steps] == [16]


def test_written_into_a_file_first() -> None:
    (found,) = batches(main=job(f"cat > /tmp/j.sbatch <<'EOF'\n{INNER}EOF\nsbatch --array=1-5%1 /tmp/j.sbatch\n"))
    assert found.subject.name == "j.sbatch"
    assert "array" in str(value(found.continuation)), "options of sbatch count"


def test_options_of_sbatch_win_over_directives() -> None:
    (found,) = batches(main=job(f"sbatch -N 2 <<'EOF'\n{INNER}EOF\n"))
    assert found.workload is not None
    assert value(found.workload.nodes) == 2


def test_with_options_that_are_not_seen_nothing_is_judged() -> None:
    assert batches(main=job(f"sbatch $OPTIONS <<'EOF'\n{INNER}EOF\n")) == []


def test_a_file_that_only_submits_is_no_batch_script() -> None:
    text = f"#!/bin/bash\nfor i in 1 2; do\nsbatch <<EOF\n{INNER.replace('=8', '=$NODES', 1)}EOF\ndone\n"
    (found,) = batches(submit_sbatch=text)
    assert found.multi_node is None, "the submitting script fills the number of nodes in"


def test_other_here_documents_are_left_alone() -> None:
    assert batches(main=job("cat > config.yaml <<EOF\nnodes: 8\nEOF\npython main.py\n")) == []
