from __future__ import annotations

from collections.abc import Callable

import pytest
from launch_words import command, environment, placed

from kube_gaplint.facts.launchers import LAUNCHERS
from kube_gaplint.launch import launchers
from kube_gaplint.launch.launchers import Peeled, peel
from kube_gaplint.launch.launchers.srun import step_settings
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Set, Setting, Unknown
from kube_gaplint.model.training import Launcher, Release
from kube_gaplint.text.source import PlacedText

NEW, OLD = "TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING"


def files(**texts: str) -> Callable[[str], PlacedText | None]:
    return lambda path: placed(texts[path], path) if path in texts else None


def value(setting: Setting[object] | None) -> object:
    """A set value, "?" for unknown, None for absent."""
    if isinstance(setting, Set):
        return setting.value
    return "?" if isinstance(setting, Unknown) else None


def peeled(
    text: str, env: Environment | None = None, torch: Release = (), look_up: dict[str, str] | None = None
) -> Peeled:
    def torch_of(_image: Setting[str] | None) -> Setting[Release]:
        return Set(torch, command("x").environment.home) if torch else Unknown("no release")

    return peel(
        command(text, env),
        files=lambda path: placed(look_up[path], path) if look_up and path in look_up else None,
        torch_of=torch_of,
    )


def launcher(
    text: str, env: Environment | None = None, torch: Release = (), look_up: dict[str, str] | None = None
) -> Launcher:
    return peeled(text, env, torch, look_up).launchers[-1]


@pytest.mark.parametrize(
    ("text", "kinds", "program", "form", "arguments"),
    [
        ("torchrun --nnodes=2 train.py --lr 1", ["torchrun"], "train.py", "script", 2),
        ("/opt/conda/bin/torchrun -m torchtitan.train --x 1", ["torchrun"], "torchtitan.train", "module", 2),
        ("torchrun --no-python ./train --x 1", ["torchrun"], "./train", "command", 2),
        ("torchrun --nproc_per_node 8 -- train.py", ["torchrun"], "train.py", "script", 0),
        ("python -m torch.distributed.run --nnodes 2 t.py", ["torchrun"], "t.py", "script", 0),
        ("python3.10 -u -m torch.distributed.launch --use_env t.py", ["torch.distributed.launch"], "t.py", "script", 0),
        ("python -um torch.distributed.run t.py", ["torchrun"], "t.py", "script", 0),
        ("python -u train.py --a", [], "train.py", "script", 1),
        ("python -W ignore -X dev train.py", [], "train.py", "script", 0),
        ("python -m MaxText.train base.yml steps=3", [], "MaxText.train", "module", 2),
        ("python -c 'import torch' x", [], "", "inline", 1),
        ("python", [], "python", "inline", 0),
        ("deepspeed --num_gpus 8 train.py --deepspeed ds.json", ["deepspeed"], "train.py", "script", 2),
        ("accelerate launch --num_processes 8 run.py --x", ["accelerate"], "run.py", "script", 1),
        ("accelerate launch -m axolotl.cli.train c.yml", ["accelerate"], "axolotl.cli.train", "module", 1),
        ("accelerate env", [], "accelerate", "command", 1),
        ("mpirun --allow-run-as-root -np 8 -bind-to none python -u t.py --a 1", ["mpirun"], "t.py", "script", 2),
        ("mpirun --mca btl tcp,self -np 8 /opt/train", ["mpirun"], "/opt/train", "command", 0),
        ("mpiexec.hydra -genv A 1 -n 4 python t.py", ["mpirun"], "t.py", "script", 0),
        ("srun -N2 -K1 python t.py", ["srun"], "t.py", "script", 0),
        ("srun --gpus-per-node 8 torchrun --nnodes 2 t.py", ["srun", "torchrun"], "t.py", "script", 0),
        ("srun mpirun -np 2 python -m torch.distributed.run t.py", ["srun", "mpirun", "torchrun"], "t.py", "script", 0),
        ("ray job submit --address http://h:8265 -- python t.py --x 1", ["ray"], "t.py", "script", 2),
        ("ray start --head", [], "ray", "command", 2),
        ("composer -n 8 train.py c.yaml", ["composer"], "train.py", "script", 1),
        ("composer -m package.train", ["composer"], "package.train", "module", 0),
        ("horovodrun -np 16 -H a:8,b:8 python t.py", ["horovodrun"], "t.py", "script", 0),
        ("fabric run --devices 8 t.py", ["lightning"], "t.py", "script", 0),
        ("lightning run model --devices=8 t.py --x 1", ["lightning"], "t.py", "script", 2),
        ("tune run --nnodes 2 lora --config c", ["torchtune"], "lora", "script", 2),
        ("colossalai run --nproc_per_node 8 --hostfile h t.py", ["colossalai"], "t.py", "script", 0),
        ("ft_launcher --ft-rank-heartbeat-timeout=300 t.py", ["ft_launcher"], "t.py", "script", 0),
        ("hyperpodrun --server-host=0.0.0.0 --tee=3 t.py --a 1", ["hyperpodrun"], "t.py", "script", 2),
        ("dlrover-run --network-check --node_unit 2 --nnodes=4 t.py --a 1", ["dlrover-run"], "t.py", "script", 2),
        ("litgpt pretrain pythia --out_dir=/o", ["litgpt"], "litgpt", "command", 3),
        ("axolotl train c.yml --launcher torchrun", ["axolotl"], "axolotl", "command", 4),
        ("llamafactory-cli train c.yaml", ["llamafactory"], "llamafactory-cli", "command", 2),
        ("nemo llm pretrain --factory llama3_8b", ["nemo"], "nemo", "command", 4),
        ("apptainer exec --nv -B /a:/b img.sif python t.py", [], "t.py", "script", 0),
        ("sarus run --mount=type=bind,source=/a,destination=/b org/img:1 python t.py", [], "t.py", "script", 0),
        ("srun singularity exec --nv img.sif torchrun t.py", ["srun", "torchrun"], "t.py", "script", 0),
        ("srun shifter python t.py --a 1", ["srun"], "t.py", "script", 2),
        ("shifter -V /a:/b --env A=1 -m gpu --image=docker:img:1 python t.py", [], "t.py", "script", 0),
        ("./entry.sh pretrain", [], "", "command", 0),
        ("torchrun $ARGS pretrain_gpt.py --save /x", ["torchrun"], "pretrain_gpt.py", "script", 2),
        ("torchrun $SCRIPT --lr 1", ["torchrun"], "", "script", 2),
    ],
)  # fmt: skip
def test_peels_to_the_program(text: str, kinds: list[str], program: str, form: str, arguments: int) -> None:
    found = peeled(text)
    assert [each.kind for each in found.launchers] == kinds
    assert (found.program, found.form, len(found.words)) == (program, form, arguments)


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("docker run -e A=1 --env B=2 --env=C=3 -e OUTER --gpus all img:1 python t.py", {"A": "1", "B": "2", "C": "3"}),
        ("podman run -e A=x=y -v /a:/a img:1 python t.py", {"A": "x=y"}),
        ("apptainer exec --env A=1,B=2 img.sif python t.py", {"A": "1", "B": "2", "OUTER": "here"}),
        ("singularity exec --nv img.sif python t.py", {"OUTER": "here"}),
        ("shifter --env A=1 python t.py", {"A": "1", "OUTER": "here"}),
        ("docker run -e A=$X img:1 python t.py", {"A": "?"}),
    ],
)
def test_variables_in_a_container(text: str, given: dict[str, str]) -> None:
    found = peeled(text, environment(OUTER="here") if "-e OUTER" not in text else environment())
    got = {name: value(found.environment.get(name)) for name in ("A", "B", "C", "OUTER")}
    assert {name: text for name, text in got.items() if text is not None} == given
    assert (found.environment.sealed_by != "") is text.startswith(("docker", "podman"))


def test_variables_from_a_file() -> None:
    found = peeled("docker run --env-file site.env img:1 python t.py")
    assert value(found.environment.get("NCCL_DEBUG")) == "?"


def test_every_row_has_a_reader() -> None:
    assert {facts.kind for facts in LAUNCHERS} == set(launchers._READERS)
    assert all(facts.source for facts in LAUNCHERS)


def test_torchrun_defaults() -> None:
    found = launcher("torchrun train.py")
    assert value(found.nodes) == 1
    assert value(found.processes_per_node) == 1
    assert value(found.max_restarts) == 0
    assert value(found.rendezvous_backend) == "static"
    assert value(found.rendezvous_id) == "none"
    assert value(found.elastic) is False
    assert isinstance(found.max_restarts, Set) and found.max_restarts.origin.via == "default"


@pytest.mark.parametrize(
    ("text", "env", "nodes", "restarts", "backend", "elastic"),
    [
        ("torchrun --nnodes=4 t.py", {}, 4, 0, "static", False),
        ("torchrun --nnodes=2:4 --max-restarts=3 --rdzv-backend=c10d t.py", {}, "?", 3, "c10d", True),
        ("torchrun --nnodes=3:3 t.py", {}, 3, 0, "static", False),
        ("torchrun --standalone --max_restarts 2 t.py", {"PET_NNODES": "4"}, 1, 2, "c10d", False),
        ("torchrun t.py", {"PET_NNODES": "4", "PET_MAX_RESTARTS": "5"}, 4, 5, "static", False),
        ("torchrun --max-restarts 1 t.py", {"PET_MAX_RESTARTS": "5", "PET_RDZV_BACKEND": "c10d"}, 1, 1, "c10d", False),
        ("torchrun --nnodes=$N t.py", {}, "?", 0, "static", "?"),
        ("torchrun $ARGS t.py", {}, "?", "?", "?", "?"),
    ],
)
def test_torchrun_options_and_variables(
    text: str, env: dict[str, str], nodes: object, restarts: object, backend: object, elastic: object
) -> None:
    found = launcher(text, environment(**env))
    assert (value(found.nodes), value(found.max_restarts)) == (nodes, restarts)
    assert (value(found.rendezvous_backend), value(found.elastic)) == (backend, elastic)


def test_an_open_environment_may_hold_torchrun_variables() -> None:
    env = environment().over({}, "a sourced file")
    assert value(launcher("torchrun t.py", env).max_restarts) == "?"
    assert value(launcher("torchrun --max-restarts=2 t.py", env).max_restarts) == 2


@pytest.mark.parametrize(("text", "expected"), [("8", 8), ("auto", "?"), ("gpu", "?"), ("$GPUS", "?")])
def test_processes_per_node(text: str, expected: object) -> None:
    assert value(launcher(f"torchrun --nproc-per-node={text} t.py").processes_per_node) == expected


@pytest.mark.parametrize(
    ("torch", "env", "new", "old"),
    [
        ((1, 8, 1), {}, None, None),
        ((1, 9, 0), {}, None, "1"),
        ((1, 11, 0), {OLD: "0"}, None, "1"),  # the agent overwrites
        ((1, 12, 1), {OLD: "0"}, None, "0"),
        ((1, 13, 1), {}, None, "1"),
        ((2, 1), {NEW: "0"}, "0", "1"),  # torch 2.1 does not read the new name
        ((2, 2), {}, "1", None),
        ((2, 2), {OLD: "0"}, "1", "0"),  # the new name wins
        ((2, 14, 1), {NEW: "0"}, "0", None),
        ((), {}, "1", "1"),
        ((), {OLD: "0"}, "?", "0"),
        ((), {NEW: "0"}, "0", "1"),
    ],
)
def test_the_agent_exports_async_error_handling(torch: Release, env: dict[str, str], new: object, old: object) -> None:
    found = peeled("torchrun t.py", environment(**env), torch)
    assert (value(found.environment.get(NEW)), value(found.environment.get(OLD))) == (new, old)


def test_the_agent_leaves_an_unseen_value_unknown() -> None:
    env = environment().over({}, "a sourced file")
    assert value(peeled("torchrun t.py", env, (2, 4)).environment.get(NEW)) == "?"


def test_exports_say_who_sets_them() -> None:
    found = launcher("torchrun t.py", torch=(2, 4)).exports[NEW]
    assert isinstance(found, Set) and found.origin.via == "injected"
    assert value(peeled("torchrun t.py", environment(WORLD_SIZE="4")).environment.get("WORLD_SIZE")) == "?"


@pytest.mark.parametrize(
    ("text", "env", "expected"),
    [
        ("srun -N 4 -n 32 -K1 -W 60 python t.py", {}, (4, 32, "1", 60.0, None)),
        ("srun --nodes=2-2 --kill-on-bad-exit python t.py", {}, (2, None, "1", None, None)),
        ("srun -N 2-4 --no-kill python t.py", {}, ("?", None, None, None, True)),
        ("srun --no-kill=off python t.py", {}, (None, None, None, None, False)),
        ("srun python t.py", {"SLURM_KILL_BAD_EXIT": "1", "SLURM_WAIT": "30"}, (None, None, "1", 30.0, None)),
        ("srun -K0 --wait=0 python t.py", {"SLURM_KILL_BAD_EXIT": "1"}, (None, None, "0", 0.0, None)),
        ("srun $FLAGS python x.py", {}, ("?", "?", "?", "?", "?")),
    ],
)  # fmt: skip
def test_srun_settings(text: str, env: dict[str, str], expected: tuple[object, ...]) -> None:
    variables = environment(**env)
    found = step_settings(launcher(text, variables).options, variables)
    got = (found.nodes, found.tasks, found.kill_on_bad_exit, found.wait_seconds, found.no_kill)
    assert tuple(value(each) for each in got) == expected


@pytest.mark.parametrize(
    ("text", "each"),
    [
        ("srun -N2 -n16 python t.py", 8),
        ("srun --ntasks-per-node=4 python t.py", 4),
        ("srun --tasks-per-node 4 python t.py", 4),
        ("srun -n16 python t.py", "?"),
        ("srun python t.py", None),
    ],
)
def test_srun_tasks_per_node(text: str, each: object) -> None:
    assert value(launcher(text).processes_per_node) == each


def test_srun_container_image() -> None:
    found = peeled("srun --container-image=nvcr.io#nvidia/pytorch:24.05-py3 python t.py")
    assert value(found.image) == "nvcr.io/nvidia/pytorch:24.05-py3"
    assert value(peeled("srun --container-image /images/x.sqsh python t.py").image) == "?"
    assert peeled("srun python t.py").image is None


def test_srun_export() -> None:
    env = environment(A="1", B="2")
    assert value(peeled("srun --export=ALL,A=5 python t.py", env).environment.get("A")) == "5"
    kept = peeled("srun --export=A,C=3 python t.py", env).environment
    assert (value(kept.get("A")), value(kept.get("B")), value(kept.get("C"))) == ("1", "?", "3")


def test_mpirun_exports_and_counts() -> None:
    env = environment(NCCL_DEBUG="INFO")
    found = peeled(
        "mpirun -np 16 -N 8 -x NCCL_DEBUG -x A=1 -x B,C --hostfile /h python t.py",
        env,
        look_up={"/h": "a slots=8\n# c\nb\n"},
    )
    assert value(found.environment.get("A")) == "1"
    assert set(found.launchers[0].exports) == {"NCCL_DEBUG", "A", "B", "C"}
    assert value(found.launchers[0].nodes) == 2
    assert value(found.launchers[0].processes_per_node) == 8
    assert value(launcher("mpirun -np 16 --map-by ppr:8:node python t.py").nodes) == 2
    assert value(launcher("mpiexec -genv A 1 -hosts a,b python t.py").exports["A"]) == "1"


@pytest.mark.parametrize(
    ("text", "look_up", "nodes", "each"),
    [
        ("deepspeed t.py", {}, 1, "?"),
        ("deepspeed --num_nodes 2 --num_gpus 8 t.py", {}, 2, 8),
        ("deepspeed --hostfile /h t.py", {"/h": "a slots=8\nb slots=8\n"}, 2, "?"),
        ("deepspeed --hostfile /h t.py", {}, "?", "?"),
        ("deepspeed -H $FILE t.py", {}, "?", "?"),
    ],
)
def test_deepspeed(text: str, look_up: dict[str, str], nodes: object, each: object) -> None:
    found = launcher(text, look_up=look_up)
    assert (value(found.nodes), value(found.processes_per_node)) == (nodes, each)
    assert value(found.max_restarts) is None


ACCELERATE = "num_machines: 4\nnum_processes: 32\nrdzv_backend: c10d\nmax_restarts: 2\n"


@pytest.mark.parametrize(
    ("text", "look_up", "expected"),
    [
        ("accelerate launch t.py", {}, (1, "?", 0, "static")),
        ("accelerate launch --num_processes 16 --num_machines 2 --max_restarts 3 t.py", {}, (2, 8, 3, "static")),
        ("accelerate launch --config_file /c.yaml t.py", {"/c.yaml": ACCELERATE}, (4, 8, 2, "c10d")),
        ("accelerate launch --config_file=/c.yaml --max_restarts=5 t.py", {"/c.yaml": ACCELERATE}, (4, 8, 5, "c10d")),
        ("accelerate launch --config_file /c.yaml --max_restarts 5 t.py", {}, ("?", "?", 5, "?")),
        ("accelerate launch --config_file $C t.py", {}, ("?", "?", "?", "?")),
    ],
)
def test_accelerate(text: str, look_up: dict[str, str], expected: tuple[object, ...]) -> None:
    found = launcher(text, look_up=look_up)
    got = (found.nodes, found.processes_per_node, found.max_restarts, found.rendezvous_backend)
    assert tuple(value(each) for each in got) == expected


def test_a_single_accelerate_process_has_no_agent() -> None:
    assert NEW not in launcher("accelerate launch --num_processes 1 t.py", torch=(2, 4)).exports
    assert NEW in launcher("accelerate launch --num_processes 8 t.py", torch=(2, 4)).exports


def test_ray_runtime_environment() -> None:
    found = peeled("""ray job submit --runtime-env-json '{"env_vars": {"NCCL_DEBUG": "WARN"}}' -- python t.py""")
    assert value(found.environment.get("NCCL_DEBUG")) == "WARN"
    assert value(found.environment.get("OTHER")) is None
    unseen = peeled("ray job submit --runtime-env /e.yaml -- python t.py")
    assert value(unseen.environment.get("OTHER")) == "?"


def test_composer_sets_async_error_handling() -> None:
    found = peeled("composer -n 8 --world_size 16 t.py", environment(**{NEW: "0"}))
    assert value(found.environment.get(NEW)) == "1"
    assert value(found.launchers[0].nodes) == 2


def test_other_launchers() -> None:
    assert value(launcher("horovodrun -np 16 -H a:8,b:8 python t.py").nodes) == 2
    assert value(launcher("horovodrun -np 16 --host-discovery-script s.sh python t.py").elastic) is True
    assert value(launcher("fabric run --num-nodes=2 --devices=8 t.py").nodes) == 2
    assert value(launcher("ft_launcher --nnodes=8 t.py").rendezvous_backend) == "c10d"
    assert value(launcher("hyperpodrun --nnodes=8 t.py").nodes) == 8
    assert value(launcher("hyperpodrun --nnodes=8 t.py").max_restarts) is None
    dlrover = launcher("dlrover-run --nnodes=4 --nproc_per_node=8 --max_restarts=3 --rdzv_backend=c10d t.py")
    assert (value(dlrover.nodes), value(dlrover.processes_per_node), value(dlrover.max_restarts)) == (4, 8, 3)
    assert value(dlrover.rendezvous_backend) == "dlrover-master"
    assert value(launcher("dlrover-run --auto-config --nnodes=4 t.py").nodes) == "?"
    env = environment(FORCE_TORCHRUN="1", NNODES="2", RDZV_ID="x", MAX_RESTARTS="3")
    factory = launcher("llamafactory-cli train c.yaml", env)
    assert (value(factory.nodes), value(factory.max_restarts), value(factory.rendezvous_backend)) == (2, 3, "c10d")
    assert value(launcher("tune run --nnodes 2 --max-restarts 1 r --config c").max_restarts) == 1


def test_deep_nesting_ends() -> None:
    found = peeled("srun " * 200 + "python t.py")
    assert found.opaque_because


def test_a_shell_behind_a_launcher_is_read() -> None:
    text = "srun -N2 -K1 bash -c 'export A=1; cd /x && torchrun --nnodes=2 train.py --lr 1'"
    found = launchers.peel_all(command(text))
    last = found[-1]
    assert [each.kind for each in last.launchers] == ["srun", "torchrun"]
    assert last.program == "train.py"
    assert value(last.environment.get("A")) == "1"
    assert value(last.launchers[1].nodes) == 2


def test_wrappers_and_scripts_behind_a_launcher() -> None:
    assert peeled("srun numactl --interleave=all env B=2 python t.py").program == "t.py"
    assert value(peeled("srun env B=2 python t.py").environment.get("B")) == "2"
    unseen = peeled("srun bash /opt/run.sh")
    assert unseen.program == "" and "/opt/run.sh" in unseen.opaque_because
    seen = peeled("srun bash /opt/run.sh --lr 3", look_up={"/opt/run.sh": "deepspeed t.py $@\n"})
    assert (seen.program, [each.kind for each in seen.launchers]) == ("t.py", ["srun", "deepspeed"])
    assert seen.words[1].known == "3"


def test_horovodrun_hands_its_options_on() -> None:
    found = peeled("horovodrun -np 2 --stall-check-shutdown-time-seconds 600 --no-stall-check python t.py")
    assert value(found.environment.get("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS")) == "600"
    assert value(found.environment.get("HOROVOD_STALL_CHECK_DISABLE")) == "1"


def test_a_shell_inside_sees_the_known_parts_of_exported_variables() -> None:
    from kube_gaplint.launch.start import start

    script = (
        'export LAUNCHER="python -m torch.distributed.run --nnodes $N --max_restarts 3"\n'
        'export CMD="`pwd`/pretrain_gpt.py --save $ROOT/ck --save-interval 50"\n'
        "srun -N 4 bash -c '$LAUNCHER --node_rank $SLURM_PROCID $CMD' 2>&1 | tee log\n"
    )
    started = start(command("bash /s.sh").words, environment(), lambda path: placed(script, path))
    found = peel(next(each for each in started.commands if each.name == "srun"))
    assert [each.kind for each in found.launchers] == ["srun", "torchrun"]
    assert (found.name, value(found.launchers[1].max_restarts)) == ("pretrain_gpt.py", 3)
    assert [word.known for word in found.words if word.known] == ["--save", "--save-interval", "50"]
