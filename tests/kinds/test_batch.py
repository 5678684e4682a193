"""Batch scripts as workloads: environment, steps, and what starts the job again (k8s.md B4, B5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from node_samples import batch, bundle_of, only, value, views, workload

from kube_gaplint.engine import Request, read
from kube_gaplint.kinds.batch import all_confs
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set
from kube_gaplint.model.slurm import Batch, SlurmConf, Step
from kube_gaplint.model.workload import UNBOUNDED, Workload

HEAD = "#!/bin/bash\n#SBATCH -N 4\n#SBATCH --gpus-per-node=8\n#SBATCH --ntasks-per-node=8\n"


def steps(*lines: str, profile: Profile | None = None) -> list[Step]:
    return batch(HEAD + "\n".join(lines) + "\n", profile).steps


def step(*lines: str, profile: Profile | None = None) -> Step:
    found = steps(*lines, profile=profile)
    assert len(found) == 1
    return found[0]


def batch_in(folder: Path) -> Batch:
    """The one batch script of a folder of files."""
    views = read(Request((str(folder),))).model.views
    (found,) = (view for view in views if isinstance(view, Batch))
    return found


def environment(*lines: str) -> Environment:
    return workload(HEAD + "\n".join(lines) + "\n").roles[0].pod.containers[0].commands[-1].environment


# The environment


def test_a_variable_that_the_script_does_not_name_is_absent() -> None:
    assert value(environment("srun python train.py").get("NCCL_DEBUG")) == "absent"


def test_a_variable_that_the_script_reads_comes_from_the_submitter() -> None:
    assert value(environment("srun python train.py --lr $LR").get("LR")) == "unknown"


def test_accelerators_of_a_script_whose_directives_come_too_late_are_unknown() -> None:
    late = workload("#!/bin/bash\nset -e\n#SBATCH --nodes=4\n#SBATCH --gpus-per-node=8\nsrun torchrun train.py\n")
    assert value(late.accelerators_per_node) == "unknown"
    assert value(workload("#!/bin/bash\n#SBATCH -N 1\nsrun python train.py\n").accelerators_per_node) == "absent"


@pytest.mark.parametrize(
    ("step", "each"),
    [
        ("-N$SLURM_JOB_NUM_NODES -n$((SLURM_JOB_NUM_NODES*8)) --gpus-per-task=1", 8),
        ("--ntasks-per-node=4 --gpus-per-task=2", 8),
        ("-n 6 --gpus-per-task=1", 2),
        ("-N 1 -n 4 --gpus-per-task=1", 4),
        ("--gpus-per-task=4", 4),
        ("-n $TASKS --gpus-per-task=1", "unknown"),
        ("--gpus-per-node=4", 4),
        ("-n 6 --gpus=12", 4),
    ],
)
def test_accelerators_that_only_the_step_asks_for(step: str, each: int | str) -> None:
    script = f"#!/bin/bash\n#SBATCH -N 3\nsrun {step} python train.py\n"
    assert value(workload(script).accelerators_per_node) == each


def test_assignments_count() -> None:
    assert value(environment("export NCCL_DEBUG=INFO", "srun python train.py").get("NCCL_DEBUG")) == "INFO"


def test_sizes_are_known_to_the_script() -> None:
    found = environment("srun python train.py")
    assert value(found.get("SLURM_NNODES")) == "4"
    assert value(found.get("SLURM_NTASKS")) == "32"
    assert value(found.get("SLURM_JOB_ID")) == "unknown"


@pytest.mark.parametrize(
    ("sourced", "expected"),
    [
        ("source /site/env.sh", "unknown"),
        ("source ~/.bashrc", "absent"),
        ("source venv/bin/activate", "absent"),
        ("module load cuda/12.4", "absent"),
        ("source $ROOT/start-prod", "unknown"),
    ],
)
def test_sourced_files_open_the_environment(sourced: str, expected: str) -> None:
    assert value(environment(sourced, "srun python train.py").get("NCCL_DEBUG")) == expected


def test_export_of_the_header() -> None:
    found = workload(f"{HEAD}#SBATCH --export=ALL,NCCL_DEBUG=WARN\nsrun python train.py\n")
    assert value(found.roles[0].pod.containers[0].environment.get("NCCL_DEBUG")) == "WARN"


def test_files_beside_a_script_in_a_config_map_are_read() -> None:
    found = only(
        Workload,
        """
apiVersion: v1
kind: ConfigMap
metadata: {name: jobs, namespace: slurm}
data:
  env.sh: export NCCL_DEBUG=INFO
  notes.txt: |
    mentions #SBATCH
  pretrain.sbatch: |
    #!/bin/bash
    #SBATCH --nodes=4
    source /jobs/env.sh
    srun python train.py
""",
    )
    assert found.subject.kind == "sbatch"
    assert found.subject.namespace == "slurm"
    assert found.subject.name == "pretrain.sbatch"
    assert found.batch is not None
    assert value(found.batch.steps[0].command.environment.get("NCCL_DEBUG")) == "INFO"
    assert found.batch.steps[0].origin.place.start.line == 13


# Steps


@pytest.mark.parametrize(
    ("lines", "kill", "wait"),
    [
        (["srun python train.py"], "absent", "absent"),
        (["srun --kill-on-bad-exit=1 --wait=60 python train.py"], "1", 60.0),
        (["srun -K -W 60 python train.py"], "1", 60.0),
        (["srun -K1 -W60 python train.py"], "1", 60.0),
        (["srun -lK0 -W 0 python train.py"], "0", 0.0),
        (["export SLURM_KILL_BAD_EXIT=1 SLURM_WAIT=30", "srun python train.py"], "1", 30.0),
        (["SLURM_KILL_BAD_EXIT=1 srun -K0 python train.py"], "0", "absent"),
        (["ARGS='--wait=60 --kill-on-bad-exit=1'", "srun $ARGS python train.py"], "1", 60.0),
        (["srun ${EXTRA_SRUN_FLAGS} python train.py"], "unknown", "unknown"),
        (["time srun -K python train.py"], "1", "absent"),
        (["source $ROOT/start-prod", "srun python train.py"], "absent", "absent"),
    ],
)
def test_effective_values(lines: list[str], kill: str, wait: float | str) -> None:
    found = step(*lines)
    assert (value(found.kill_on_bad_exit), value(found.wait_seconds)) == (kill, wait)


def test_the_site_and_the_profile_decide_what_the_script_leaves_open() -> None:
    conf = "ClusterName=a\nSlurmctldHost=b\nKillOnBadExit=1\nWaitTime=90\nJobFileAppend=1\nRequeueExit=1-255\n"
    found = only(Workload, site_conf=conf, job_sbatch=HEAD + "srun python train.py\n")
    assert found.batch is not None
    assert found.batch.conf is not None
    assert value(found.batch.steps[0].kill_on_bad_exit) == "1"
    assert value(found.batch.steps[0].wait_seconds) == 90.0
    assert value(found.batch.open_mode) == "append"
    assert "RequeueExit" in str(value(found.batch.continuation))
    assert value(step("srun python train.py", profile=Profile(kill_on_bad_exit=True)).kill_on_bad_exit) == "1"


def test_two_sites_that_are_equally_near_decide_nothing() -> None:
    conf = "ClusterName={}\nSlurmctldHost=b\nKillOnBadExit=1\n"
    found = views(Workload, a_conf=conf.format("a"), b_conf=conf.format("b"), job_sbatch=HEAD + "srun python t.py\n")
    assert found[0].batch is not None
    assert found[0].batch.conf is None


@pytest.mark.parametrize(
    ("command", "trains"),
    [
        ("srun python train.py", True),
        ("srun ./launch.sh", True),
        ("srun bash -c 'torchrun train.py'", True),
        ("srun apptainer exec --nv --bind /d:/d image.sif python train.py", True),
        ("srun shifter python train.py", True),
        ("srun shifter --image=a:1 hostname", False),
        ("srun hostname", False),
        ("srun --ntasks-per-node=1 mkdir -p /scratch/x", False),
        ("srun bash -c 'nvidia-smi && mkdir -p /x'", False),
        ("srun all_reduce_perf -b 8 -e 1G", False),
        ("srun -n 1 ./prepare", False),
    ],
)
def test_helpers_do_not_train(command: str, trains: bool) -> None:
    assert step(command).trains is trains


@pytest.mark.parametrize(
    ("options", "nodes", "tasks"),
    [("", 4, 32), ("-N 2", 2, 16), ("-n 1", 1, 1), ("-N 4 --ntasks-per-node=1", 4, 4), ("-N $SLURM_NNODES", 4, 32)],
)
def test_size_of_a_step(options: str, nodes: int, tasks: int) -> None:
    found = step(f"srun {options} python train.py")
    assert (value(found.nodes), value(found.tasks)) == (nodes, tasks)


@pytest.mark.parametrize(
    ("command", "image"),
    [
        ("srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 python t.py", "nvcr.io/nvidia/pytorch:24.05-py3"),
        ("srun --container-image=/images/t.sqsh python t.py", "unknown"),
        ("srun singularity exec --nv docker://pytorch/pytorch:2.3.1-devel python t.py", "pytorch/pytorch:2.3.1-devel"),
    ],
)
def test_images(command: str, image: str) -> None:
    found = step(command).image
    assert found is not None
    assert value(found) == image


def test_shifter_takes_its_image_from_an_option_or_from_the_job() -> None:
    assert value(step("srun shifter --image=docker:a/b:1 python t.py").image) == "a/b:1"
    named = "#SBATCH --image=docker:nvcr.io/nvidia/pytorch:24.05-py3\n"
    for command, image in (("shifter python t.py", "nvcr.io/nvidia/pytorch:24.05-py3"), ("python t.py", "unknown")):
        found = workload(f"{HEAD}{named}srun {command}\n")
        (container,) = found.roles[0].pod.containers
        assert value(container.image) == image


def test_mpirun_ends_all_ranks_itself() -> None:
    found = step("mpirun -np 32 python train.py")
    assert (found.launcher, value(found.kill_on_bad_exit), value(found.tasks)) == ("mpirun", "1", 32)


# After a failure


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["srun python train.py"], "absent"),
        (["#SBATCH --requeue", "srun python train.py"], "absent"),
        (["#SBATCH --array=1-20%1", "srun python train.py"], "array"),
        (["#SBATCH --array=1-20", "srun python train.py"], "unknown"),
        (["#SBATCH --dependency=singleton", "srun python train.py"], "chain"),
        (["#SBATCH -d afterany:123", "srun python train.py"], "chain"),
        (["#SBATCH -d afterok:123", "srun python train.py"], "absent"),
        (["srun python train.py", 'sbatch "$0"'], "submits"),
        (["srun python train.py || scontrol requeue $SLURM_JOB_ID"], "scontrol requeue"),
        (["trap 'scontrol requeue $SLURM_JOB_ID' USR1", "srun python train.py"], "scontrol requeue"),
        (["again() { sbatch $0; }", "trap again TERM", "srun python train.py"], "submits a job again"),
        (["trap 'scontrol requeue 1' USR1", "trap - USR1", "srun python train.py"], "absent"),
        (["srun --auto-resume=1 python train.py"], "auto-resume"),
        (["until srun python train.py; do sleep 10; done"], "loop"),
        (["while true; do srun python train.py; done"], "loop"),
        (["for i in $(seq 5); do srun python train.py && break; done"], "loop"),
        (["for ((i = 0; i < 5; i++)); do srun python train.py; done"], "unknown"),
        (["for lr in 1 2; do srun python train.py --lr $lr; done"], "absent"),
        (["for x in a b; do", "read y <<< $x", "srun python train.py --lr $y || exit 1", "done"], "absent"),
        (
            ["for x in a b; do", "srun python train.py", "rc=$?", "if [ $rc -ne 0 ]; then exit $rc; fi", "done"],
            "absent",
        ),
        (["for x in a b; do", "srun python train.py", "rc=$?", "if [ $rc -eq 0 ]; then break; fi", "done"], "loop"),
        (["set -e", "for i in $(seq 5); do srun python train.py; done"], "absent"),
    ],
)
def test_what_starts_the_job_again(lines: list[str], expected: str) -> None:
    assert expected in str(value(batch(HEAD + "\n".join(lines) + "\n").continuation))


def test_the_budget_of_an_array_is_its_length() -> None:
    found = workload(f"{HEAD}#SBATCH --array=1-20%1\nsrun python train.py\n")
    assert value(found.restart_budget) == 19
    assert value(workload(HEAD + "srun python train.py\n").restart_budget) == 0
    assert value(workload(f"{HEAD}#SBATCH -d singleton\nsrun python train.py\n").restart_budget) == UNBOUNDED


def test_requeue_is_slurms_default() -> None:
    found = batch(HEAD + "srun python train.py\n").requeue
    assert isinstance(found, Set)
    assert found.value
    assert found.origin.via == "default"
    assert value(batch(f"{HEAD}#SBATCH --requeue\n#SBATCH --no-requeue\nsrun python t.py\n").requeue) is False
    assert value(batch(HEAD + "srun python t.py\n", Profile(slurm_requeue=False)).requeue) is False


def test_numbers_declared_in_a_comment() -> None:
    found = workload(f"{HEAD}# gaplint: step-seconds=105 save-seconds=40 run-days=90\nsrun python train.py\n")
    assert (value(found.step_seconds), value(found.save_seconds), value(found.run_days)) == (105.0, 40.0, 90.0)


def test_the_time_limit_is_a_deadline_and_tells_the_length_of_long_runs() -> None:
    found = workload(f"{HEAD}#SBATCH -t 4-00:00:00\nsrun python train.py\n")
    assert (value(found.deadline_seconds), value(found.run_days)) == (345600.0, 4.0)


def test_confs_of_all_sorts_are_found() -> None:
    bundle = bundle_of(
        objects="""
apiVersion: v1
kind: ConfigMap
metadata: {name: conf}
data: {slurm.conf: "ClusterName=a\\nSlurmctldHost=b\\n"}
---
apiVersion: slinky.slurm.net/v1beta1
kind: Controller
metadata: {name: c}
spec: {extraConf: "KillOnBadExit=1"}
""",
        site_conf="ClusterName=x\nSlurmctldHost=y\n",
    )
    found = all_confs(bundle, Profile())
    assert [conf.writer for conf in found] == ["", "", "slinky"]
    assert all(isinstance(conf, SlurmConf) for conf in found)


def test_a_readme_that_names_soperator_tells_the_site_s_settings(tmp_path: Path) -> None:
    script = tmp_path / "jobs" / "run.sbatch"
    script.parent.mkdir()
    script.write_text("#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\nsrun torchrun train.py\n")
    (tmp_path / "README.md").write_text("# Training\n\nRun it on your Soperator cluster.\n")
    (step,) = batch_in(tmp_path).steps
    assert isinstance(step.kill_on_bad_exit, Set)
    assert step.kill_on_bad_exit.value == "1"
    assert step.kill_on_bad_exit.origin is not None
    assert step.kill_on_bad_exit.origin.place.source.path.endswith("README.md")
    (script.parent / "README.md").write_text("# Training\n\nRun it on any Slurm cluster.\n")
    (step,) = batch_in(tmp_path).steps
    assert isinstance(step.kill_on_bad_exit, Absent)


@pytest.mark.parametrize(("line", "trains"), [("", True), ("export NVIDIA_VISIBLE_DEVICES=void\n", False)])
def test_a_script_that_hides_all_gpus_runs_on_cpus(tmp_path: Path, line: str, trains: bool) -> None:
    text = f"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --exclusive\n{line}srun torchrun --nproc-per-node 4 train.py\n"
    (tmp_path / "run.sbatch").write_text(text)
    workload = batch_in(tmp_path).workload
    assert workload is not None
    assert workload.trains is trains
