from __future__ import annotations

import pytest
from launch_words import environment, placed, words

from kube_gaplint.launch.processes import training_processes
from kube_gaplint.launch.start import start
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.subject import Subject
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import Accelerators, Classified, Container, Pod, Role, Workload
from kube_gaplint.text.source import Place, PlacedText, Source, Span

HOME = Origin(Place(Source("job.yaml", ""), Span(0, 0)))
NOTHING = Absent(HOME)


def value(setting: Setting[object] | None) -> object:
    if isinstance(setting, Set):
        return setting.value
    return "?" if isinstance(setting, Unknown) else None


def container(
    text: str,
    env: Environment | None = None,
    look_up: dict[str, str] | None = None,
    *,
    gpus: int = 8,
    image: str = "pytorch/pytorch:2.5.1-cuda12.4-cudnn9-runtime",
    name: str = "main",
) -> Container:
    """A container whose command is one line of words, or a bash script where it has a newline."""
    variables = env or environment()
    files = files_of(look_up)
    made = Container(
        name=name,
        origin=HOME,
        subject=Subject("Job", container=name),
        image=Set(image, HOME),
        environment=variables,
        command=NOTHING,
        args=NOTHING,
        accelerators=(Accelerators("nvidia.com/gpu", Set(gpus, HOME), "nvidia", HOME),) if gpus else (),
        requests={},
        limits={},
        mounts=(),
    )
    if text:
        if "\n" in text:
            started = start(words("bash /start.sh"), variables, files_of({**(look_up or {}), "/start.sh": text}))
        else:
            started = start(words(text), variables, files)
        made.commands, made.scripts, made.entrypoint_unknown = started.commands, started.scripts, started.unknown
    else:
        made.entrypoint_unknown = "the image's own entry point starts"
    return made


def files_of(look_up: dict[str, str] | None):  # type: ignore[no-untyped-def]
    def files(path: str) -> PlacedText | None:
        return placed(look_up[path], path) if look_up and path in look_up else None

    return files


def role(name: str, *containers: Container, trains: bool = True) -> Role:
    pod = Pod(HOME, containers, (), (), {}, {}, NOTHING, NOTHING, {})
    return Role(name, HOME, pod, Set(2, HOME), trains)


def processes(
    *roles: Role,
    look_up: dict[str, str] | None = None,
    profile: Profile | None = None,
    subject: Subject = Subject("Job"),  # noqa: B008
) -> list[TrainingProcess]:
    workload = Workload(
        subject=subject,
        origin=HOME,
        roles=roles,
        classified=Classified("unknown", ""),
        restarts=(),
        nodes=Set(2, HOME),
        accelerators_per_node=Set(8, HOME),
        restart_budget=NOTHING,
        gang_scheduled=NOTHING,
        elastic=NOTHING,
        deadline_seconds=NOTHING,
        run_days=NOTHING,
        step_seconds=NOTHING,
        save_seconds=NOTHING,
    )
    return training_processes(workload, profile or Profile(), lambda _role, _container: files_of(look_up))


def of(text: str, look_up: dict[str, str] | None = None, env: Environment | None = None) -> list[TrainingProcess]:
    return processes(role("worker", container(text, env, look_up)), look_up=look_up)


@pytest.mark.parametrize(
    ("text", "programs"),
    [
        ("torchrun train.py", ["train.py"]),
        ("python train.py", ["train.py"]),
        ("pip install x\npython -m pip list\nnvidia-smi\npython main.py\necho done\n", ["main.py"]),
        ("python preprocess.py\ntorchrun train.py\npython tools/push_metrics.py\n", ["train.py"]),
        ("python prepare.py\npython main.py\n", ["main.py"]),
        ("python -c 'import torch'\ntorchrun train.py\n", ["train.py"]),
        ("torchrun pretrain.py --stage 1\ntorchrun pretrain.py --stage 2\n", ["pretrain.py", "pretrain.py"]),
        ("torchrun train.py\ntorchrun train.py\n", ["train.py"]),
        ("torchrun train.py\ntorchrun eval.py\n", ["train.py"]),
        ("torchrun eval.py", ["eval.py"]),
        ("python one.py\npython two.py\n", ["two.py"]),
        ("python prepare_data.py", ["prepare_data.py"]),
        ("mpirun -np 8 all_reduce_perf -b 8", []),
        ("singularity exec --nv image.sif python train.py", ["train.py"]),
        ("apptainer run image.sif bash -c 'python train.py; echo done'", ["train.py"]),
        ("docker run --gpus all pytorch/pytorch python train.py", ["train.py"]),
        ("singularity pull image.sif docker://pytorch/pytorch\napptainer exec image.sif nvidia-smi", []),
        ("nvidia-smi", []),
        ("sleep infinity", []),
        ("/usr/sbin/sshd -D", []),
        ("vllm serve m", []),
        ("ray start --head --block", []),
        ("accelerate env", []),
        ("llamafactory-cli export c.yaml", []),
        ("litgpt finetune_lora m --out_dir /o", ["litgpt"]),
        ("./train --lr 1", [""]),
        ("/app/entry.sh pretrain", [""]),
        ("bash /opt/run.sh", [""]),
        ("", [""]),
        ("wandb login\nbash /opt/setup.sh\ntorchrun train.py\n", ["train.py"]),
        ("ray start --head\npython train.py\n", ["train.py"]),
        ("trap 'python last.py' EXIT\ntorchrun train.py\n", ["train.py"]),
        ("if [ $RANK = 0 ]; then torchrun train.py --a; else torchrun train.py --b; fi\n", ["train.py", "train.py"]),
    ],
)
def test_which_program_trains(text: str, programs: list[str]) -> None:
    assert [process.program for process in of(text)] == programs


@pytest.mark.parametrize(
    ("text", "ways"),
    [
        ("if $A; then torchrun t.py; else export NCCL_ALGO=Ring; torchrun t.py; fi\n", [None, "Ring"]),
        ("if $A; then torchrun t.py; else export LR=1; torchrun t.py; fi\n", [None]),
        ("torchrun t.py\nNCCL_ALGO=Tree torchrun t.py\nNCCL_ALGO=Ring torchrun t.py\n", [None, "Tree", "Ring"]),
        ("torchrun --max-restarts 3 t.py\ntorchrun t.py\n", [None, None]),
        ("torchrun --node-rank 0 t.py\ntorchrun --node-rank 1 t.py\n", [None]),
        ("torchrun t.py &\ntorchrun t.py\nwait\n", [None, None]),
        ("while true; do torchrun t.py && break; export NCCL_ALGO=Ring; done\n", [None]),
        ("torchrun t.py\nNCCL_ALGO=Tree torchrun t.py\ntorchrun t.py --x\n", [None, None, "Tree"]),
        ("".join(f"NCCL_ALGO={at} torchrun t.py\n" for at in range(9)), ["0", "1", "2", "3"]),
    ],
)
def test_ways_to_start_the_same_program(text: str, ways: list[str | None]) -> None:
    assert [value(process.environment.get("NCCL_ALGO")) for process in of(text)] == ways


def test_every_start_of_a_program_is_known() -> None:
    (process,) = of("torchrun t.py\ntorchrun t.py\npython prepare.py\nsrun python -u t.py\n")
    assert len(process.launched) == 3


def test_opaque_processes_say_why() -> None:
    (process,) = of("bash /opt/run.sh")
    assert "/opt/run.sh" in process.opaque_because
    assert value(process.environment.get("NCCL_DEBUG")) == "?"
    assert process.options.has("save") is None
    assert all(isinstance(setting, Unknown) for setting in (process.settings.saving, process.settings.timeout))
    (binary,) = of("./train --save /x")
    assert binary.opaque_because and not binary.program


def test_exports_and_launchers_make_the_environment() -> None:
    (process,) = of("export A=1\nB=2 torchrun train.py\n", env=environment(C="3"))
    got = [value(process.environment.get(name)) for name in ("A", "B", "C", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "D")]
    assert got == ["1", "2", "3", "1", None]


def test_releases_come_from_the_image_that_srun_starts() -> None:
    (process,) = of("srun --container-image=nvcr.io#nvidia/pytorch:22.02-py3 torchrun train.py")
    assert isinstance(process.torch, Set) and process.torch.value[:2] == (1, 11)
    assert value(process.environment.get("NCCL_ASYNC_ERROR_HANDLING")) == "1"
    (declared,) = processes(role("w", container("torchrun t.py", image="x/y:1")), profile=Profile(torch=(2, 3)))
    assert value(declared.torch) == (2, 3)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torchrun train.py", True),
        ("python -m MaxText.train base.yml run_name=x base_output_directory=gs://b", False),
        ("./x", "?"),
    ],
)
def test_uses_torch(text: str, expected: object) -> None:
    (process,) = processes(role("w", container(text, image="registry.example/x:1")))
    assert value(process.uses_torch) == expected


def test_a_visible_script_is_read() -> None:
    code = (
        "import os, torch\nimport torch.distributed as dist\nos.environ['NCCL_DEBUG'] = 'WARN'\n"
        "dist.init_process_group()\n"
    )
    (process,) = of("torchrun /code/ddp.py", {"/code/ddp.py": code})
    assert process.framework is not None and process.framework.name == "torch"
    assert value(process.settings.timeout) == 600.0
    assert value(process.environment.get("NCCL_DEBUG")) == "WARN"


def test_files_that_the_script_writes_are_read() -> None:
    text = (
        "cat > /tmp/c.yaml <<EOF\nsave_folder: /ck\nsave_interval: 10ba\nmax_duration: $MAX\nEOF\n"
        "composer train.py /tmp/c.yaml\n"
    )
    (process,) = of(text)
    found = process.settings
    assert (value(found.save_path), str(value(found.save_interval)), value(found.total)) == (
        "/ck",
        "10 steps",
        "?",
    )


def test_a_program_on_standard_input() -> None:
    text = "python - <<'EOF'\nimport torch.distributed as dist\ndist.init_process_group('nccl')\nEOF\n"
    (process,) = of(text)
    assert process.framework is not None
    assert of("python - <<'EOF'\nimport torch\nprint(torch.__version__)\nEOF\n") == []


def test_helper_containers_are_passed_over() -> None:
    main, side = container("torchrun train.py"), container("python sync.py", gpus=0, name="side")
    assert [process.container.name for process in processes(role("w", side, main))] == ["main"]


def test_mpi_processes_run_in_the_workers() -> None:
    launcher = container("mpirun -np 16 -x A python train.py", environment(A="1"), gpus=0, name="launcher")
    worker = container("/usr/sbin/sshd -D", environment(B="2"), name="worker")
    (process,) = processes(role("Launcher", launcher, trains=False), role("Worker", worker))
    assert (process.role.name, process.container.name) == ("Worker", "worker")
    assert [value(process.environment.get(name)) for name in "ABC"] == ["1", "?", None]


def test_ray_processes_run_in_the_workers() -> None:
    head = container("ray start --head", environment(A="head", B="head"), gpus=0, name="head")
    given = head.environment.over({"B": Set("runtime", HOME)})
    driver = container("export C=driver\npython train.py", given, gpus=0, name="head")
    worker = container("ray start --block", environment(D="worker"), name="worker")
    (process,) = processes(
        role("head", head, trains=False),
        role("w", worker),
        role("entrypoint", driver, trains=False),
        subject=Subject("RayJob", "ray.io/v1"),
    )
    assert (process.role.name, process.container.name, process.program) == ("w", "worker", "train.py")
    assert [value(process.environment.get(name)) for name in "ABCDE"] == [None, "runtime", "?", "worker", None]


def test_like_roles_have_a_process_each() -> None:
    both = processes(role("Master", container("torchrun t.py")), role("Worker", container("torchrun t.py")))
    assert [process.role.name for process in both] == ["Master", "Worker"]


def test_a_visible_program_outweighs_unseen_ones() -> None:
    found = processes(role("Master", container("torchrun t.py")), role("Worker", container("")))
    assert [process.program for process in found] == ["t.py"]


def test_a_long_script_is_bounded() -> None:
    text = "".join(f"torchrun train.py --seed {seed}\n" for seed in range(100))
    assert 1 <= len(of(text)) <= 16


def test_names_that_visible_scripts_read() -> None:
    code = "import os, torch\nos.environ['NCCL_A']\nimport torch.distributed\n"
    (process,) = of("torchrun /c.py --x ${NCCL_B:-3}\ntrue\n", {"/c.py": code})
    assert {"NCCL_A", "NCCL_B"} <= process.reads
