"""Launchers: how each is called, which of its options take a value, and what it gives to its processes.

One row a launcher. Option names are written without leading dashes; `-` and `_` count as the same. What a launcher's
options mean for nodes, restarts and rendezvous stands in the module of the same name in `launch.launchers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

Starts = Literal["script", "command", "self"]
"""What follows the launcher's options: a Python script or module ("script"), any command with its arguments
("command"), or nothing: the launcher is the training program itself ("self")."""


class LauncherFacts(Struct, frozen=True, eq=False):
    """How a launcher is recognised and how its words are read."""

    kind: str
    source: str
    programs: tuple[str, ...] = ()
    """Base names of the program; `*` stands for any text."""
    modules: tuple[str, ...] = ()
    """Names after `python -m`."""
    subcommands: tuple[tuple[str, ...], ...] = ((),)
    """Words that must follow the program, one of these sequences (`ray job submit`)."""
    starts: Starts = "script"
    module_option: str = ""
    """The flag after which the program is a module's name (`-m`)."""
    command_option: str = ""
    """The flag after which the program is a command and not a Python script (`--no-python`)."""
    flags: str = ""
    valued: str = ""
    many: str = ""
    optional: str = ""
    short: Mapping[str, str] = field(default_factory=dict)
    single_dash: bool = False
    abbreviations: bool = False


_ELASTIC_VALUED = (
    "nnodes nproc-per-node rdzv-backend rdzv-endpoint rdzv-id rdzv-conf max-restarts monitor-interval start-method "
    "role log-dir redirects tee local-ranks-filter node-rank master-addr master-port local-addr logs-specs "
    "log-line-prefix-template event-log-handler numa-binding signals-to-handle shutdown-timeout "
    "duplicate-stdout-filters duplicate-stderr-filters"
)
_ELASTIC_FLAGS = "standalone module no-python run-path use-env use-agent-store virtual-local-rank"
_ELASTIC_SHORT = {"m": "module", "r": "redirects", "t": "tee"}

LAUNCHERS: tuple[LauncherFacts, ...] = (
    LauncherFacts(
        kind="torchrun",
        source="torch/distributed/run.py, releases 1.9 to 2.14",
        programs=("torchrun",),
        modules=("torch.distributed.run", "torch.distributed.elastic.run", "torch.distributed.launcher.run"),
        module_option="module",
        command_option="no-python",
        flags=_ELASTIC_FLAGS,
        valued=_ELASTIC_VALUED,
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="torch.distributed.launch",
        source="torch/distributed/launch.py, releases 1.1 to 2.14",
        modules=("torch.distributed.launch",),
        module_option="module",
        command_option="no-python",
        flags=_ELASTIC_FLAGS,
        valued=_ELASTIC_VALUED,
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="ft_launcher",
        source="NVIDIA/nvidia-resiliency-ext fault_tolerance/launcher.py v0.3.0, v0.4.1, d8686d9",
        programs=("ft_launcher",),
        modules=("nvidia_resiliency_ext.fault_tolerance.launcher",),
        module_option="module",
        command_option="no-python",
        flags=_ELASTIC_FLAGS + " ft-ignore-missing-cfg ignore-missing-fault-tol-cfg",
        valued=_ELASTIC_VALUED
        + " term-timeout workers-stop-timeout ft-cfg-path fault-tol-cfg-path ft-workload-check-interval"
        " ft-initial-rank-heartbeat-timeout ft-rank-heartbeat-timeout ft-rank-section-timeouts"
        " ft-rank-out-of-section-timeout ft-safety-factor ft-rank-termination-signal ft-log-level"
        " ft-max-no-progress-cycles ft-restart-policy ft-param-rank_heartbeat_timeout"
        " ft-param-initial_rank_heartbeat_timeout ft-param-rank_section_timeouts ft-param-safety_factor",
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="hyperpodrun",
        source="Amazon SageMaker HyperPod training operator guide: hyperpod-elastic-agent replaces torchrun",
        programs=("hyperpodrun",),
        module_option="module",
        command_option="no-python",
        flags=_ELASTIC_FLAGS + " inprocess-restart",
        valued=_ELASTIC_VALUED + " server-host server-port server-log-level server-shutdown-timeout"
        " pre-train-script pre-train-args post-train-script post-train-args",
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="dlrover-run",
        source="intelligent-machine-learning/dlrover trainer/torch/elastic_run.py: torchrun's parser and its own",
        programs=("dlrover-run",),
        modules=("dlrover.trainer.torch.elastic_run", "dlrover.trainer.torch.main"),
        module_option="module",
        command_option="no-python",
        flags=_ELASTIC_FLAGS + " auto-config auto-tunning exclude-straggler save-at-breakpoint numa-affinity "
        "network-check comm-perf-test",
        valued=_ELASTIC_VALUED + " precheck node-unit accelerator training-port membind-policy ucp-device-type",
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="deepspeed",
        source="deepspeed/launcher/runner.py v0.14.0 to v0.18.9",
        programs=("deepspeed", "deepspeed.pt"),
        modules=("deepspeed.launcher.runner", "deepspeed"),
        module_option="module",
        command_option="no-python",
        flags="module no-python no-local-rank no-ssh elastic-training save-pid force-multi bind-cores-to-rank "
        "no-ssh-check",
        valued="hostfile include exclude num-nodes num-gpus min-elastic-nodes max-elastic-nodes node-rank master-addr "
        "master-port launcher launcher-args autotuning bind-core-list ssh-port venv-script enable-each-rank-log",
        short={"H": "hostfile", "i": "include", "e": "exclude"},
    ),
    LauncherFacts(
        kind="accelerate",
        source="huggingface/accelerate commands/launch.py @16cb6eb8",
        programs=("accelerate",),
        modules=("accelerate.commands.launch",),
        subcommands=(("launch",),),
        module_option="module",
        command_option="no-python",
        flags="quiet cpu multi-gpu tpu ipex use-xpu dynamo-use-fullgraph dynamo-use-dynamic use-deepspeed use-fsdp "
        "use-parallelism-config use-megatron-lm use-fp8 module no-python debug tpu-cluster no-tpu-cluster "
        "enable-cpu-affinity",
        valued="config-file mixed-precision num-processes num-machines num-cpu-threads-per-process "
        "dynamo-backend dynamo-mode gpu-ids same-network machine-rank main-process-ip main-process-port tee log-dir "
        "role rdzv-backend rdzv-conf max-restarts monitor-interval main-training-function downcast-bf16 "
        "deepspeed-config-file zero-stage offload-optimizer-device offload-param-device gradient-accumulation-steps "
        "gradient-clipping zero3-init-flag zero3-save-16bit-model deepspeed-hostfile deepspeed-exclusion-filter "
        "deepspeed-inclusion-filter deepspeed-multinode-launcher deepspeed-moe-layer-cls-names fsdp-version "
        "fsdp-offload-params fsdp-min-num-params fsdp-sharding-strategy fsdp-reshard-after-forward "
        "fsdp-auto-wrap-policy fsdp-transformer-layer-cls-to-wrap fsdp-backward-prefetch fsdp-state-dict-type "
        "fsdp-forward-prefetch fsdp-use-orig-params fsdp-cpu-ram-efficient-loading fsdp-sync-module-states "
        "fsdp-activation-checkpointing megatron-lm-tp-degree megatron-lm-pp-degree vm env mpirun-hostfile mpirun-ccl",
        short={"m": "module", "q": "quiet"},
    ),
    LauncherFacts(
        kind="mpirun",
        source="Open MPI 4 and 5 mpirun(1); MPICH and Intel MPI mpiexec.hydra",
        programs=("mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra", "mpirun_rsh"),
        starts="command",
        single_dash=True,
        flags="allow-run-as-root oversubscribe nooversubscribe tag-output timestamp-output report-bindings "
        "display-map display-allocation display-devel-map bynode byslot bycore bysocket quiet q v verbose "
        "nolocal novm enable-recovery disable-recovery continuous do-not-launch do-not-resolve pernode no-local "
        "genvall envall genvnone envnone prepend-rank l print-rank-map d debug leave-session-attached "
        "index-argv-by-rank "
        "enable-instant-on-support staged xterm-all forward-signals-none",
        valued="np n c N npernode npersocket ppr map-by rank-by bind-to hostfile machinefile default-hostfile host H "
        "hosts f wdir wd x genvlist envlist am tune path prefix app output-filename output stdin timeout "
        "max-restarts report-uri server pmixmca-file launcher launcher-exec bootstrap iface ppn perhost "
        "rmk personality cpus-per-proc cpus-per-rank cpu-set cpu-list preload-files ompi-server merge-stderr-to-stdout",
        short={},
    ),
    LauncherFacts(
        kind="srun",
        source="facts.sbatch: its options as SchedMD/slurm lists them, with those of pyxis and HyperPod",
        programs=("srun",),
        starts="command",
        abbreviations=True,
    ),
    LauncherFacts(
        kind="ray",
        source="ray/dashboard/modules/job/cli.py, release 2.60",
        programs=("ray",),
        subcommands=(("job", "submit"),),
        starts="command",
        flags="no-wait verify-not-used log-color-never",
        valued="address job-id submission-id runtime-env runtime-env-json verify working-dir metadata-json "
        "entrypoint-num-cpus entrypoint-num-gpus entrypoint-memory entrypoint-resources entrypoint-label-selector "
        "log-style log-color headers",
    ),
    LauncherFacts(
        kind="composer",
        source="mosaicml/composer composer/cli/launcher.py @006ea7ac, @64051888",
        programs=("composer",),
        modules=("composer.cli.launcher", "composer"),
        module_option="module-mode",
        command_option="command-mode",
        flags="verbose module-mode command-mode version",
        valued="nproc stdout stderr world-size base-rank node-rank master-addr master-port",
        short={"n": "nproc", "v": "verbose", "m": "module-mode", "c": "command-mode"},
    ),
    LauncherFacts(
        kind="horovodrun",
        source="horovod/horovod runner/launch.py @2626dc87",
        programs=("horovodrun",),
        modules=("horovod.runner.launch",),
        starts="command",
        single_dash=True,
        flags="version check-build disable-cache verbose hierarchical-allreduce no-hierarchical-allreduce "
        "hierarchical-allgather no-hierarchical-allgather autotune no-autotune timeline-mark-cycles no-stall-check "
        "stall-check mpi-threads-disable no-mpi-threads-disable tcp gloo mpi js log-with-timestamp "
        "log-without-timestamp prefix-output-with-timestamp",
        valued="np num-proc p ssh-port ssh-identity-file network-interfaces nics output-filename config-file "
        "fusion-threshold-mb cycle-time-ms cache-capacity autotune-log-file autotune-warmup-samples "
        "autotune-steps-per-sample timeline-filename stall-check-warning-time-seconds "
        "stall-check-shutdown-time-seconds start-timeout min-np min-num-proc max-np max-num-proc slots-per-host slots "
        "elastic-timeout reset-limit mpi-args binding-args num-nccl-streams thread-affinity gloo-timeout-seconds "
        "log-level H hosts hostfile host-discovery-script",
        many="blacklist-cooldown-range cooldown-range",
    ),
    LauncherFacts(
        kind="lightning",
        source="Lightning-AI/pytorch-lightning src/lightning/fabric/cli.py @7f0c3436",
        programs=("lightning", "fabric"),
        subcommands=(("run", "model"), ("run",)),
        valued="accelerator strategy devices num-nodes node-rank main-address main-port precision",
    ),
    LauncherFacts(
        kind="torchtune",
        source="meta-pytorch/torchtune torchtune/_cli/run.py @bd2a0fc7: torchrun's own parser and its recipes",
        programs=("tune",),
        modules=("torchtune._cli.tune",),
        subcommands=(("run",),),
        flags=_ELASTIC_FLAGS,
        valued=_ELASTIC_VALUED,
        short=_ELASTIC_SHORT,
    ),
    LauncherFacts(
        kind="colossalai",
        source="hpcaitech/ColossalAI colossalai/cli/launcher/__init__.py: torchrun on each host over ssh",
        programs=("colossalai",),
        subcommands=(("run",),),
        module_option="m",
        valued="host hostfile include exclude num-nodes nproc-per-node master-port master-addr extra-launch-args "
        "ssh-port",
        flags="m",
        short={"H": "host", "m": "m"},
    ),
    LauncherFacts(
        kind="litgpt",
        source="Lightning-AI/litgpt litgpt/__main__.py @26857050",
        programs=("litgpt",),
        modules=("litgpt",),
        subcommands=(
            ("pretrain",),
            ("finetune",),
            ("finetune_full",),
            ("finetune_lora",),
            ("finetune_adapter",),
            ("finetune_adapter_v2",),
        ),
        starts="self",
    ),
    LauncherFacts(
        kind="axolotl",
        source="axolotl-ai-cloud/axolotl src/axolotl/cli/main.py @067b021c",
        programs=("axolotl",),
        subcommands=(("train",),),
        starts="self",
    ),
    LauncherFacts(
        kind="llamafactory",
        source="hiyouga/LLaMA-Factory src/llamafactory/launcher.py:58-89 @ff6d4d12",
        programs=("llamafactory-cli", "lmf"),
        modules=("llamafactory.cli", "llamafactory.launcher"),
        subcommands=(("train",),),
        starts="self",
    ),
    LauncherFacts(
        kind="swift",
        source="modelscope/ms-swift swift/cli/main.py: torchrun where NPROC_PER_NODE or NNODES is set",
        programs=("swift",),
        subcommands=(("sft",), ("pt",), ("rlhf",)),
        starts="self",
    ),
    LauncherFacts(
        kind="nemo",
        source="NVIDIA-NeMo/NeMo nemo/collections/llm and NVIDIA/NeMo-Run nemo_run/cli @0c49127",
        programs=("nemo", "nemorun"),
        starts="self",
    ),
)


ASYNC_ERROR_NAMES = ("TORCH_NCCL_ASYNC_ERROR_HANDLING", "NCCL_ASYNC_ERROR_HANDLING")
"""The new name, which wins in torch 2.2 and later, and the old one."""

HOROVOD_VARIABLES: Mapping[str, str] = {
    # horovod/horovod runner/common/util/config_parser.py @2626dc87
    "stall-check-warning-time-seconds": "HOROVOD_STALL_CHECK_TIME_SECONDS",
    "stall-check-shutdown-time-seconds": "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS",
    "gloo-timeout-seconds": "HOROVOD_GLOO_TIMEOUT_SECONDS",
    "elastic-timeout": "HOROVOD_ELASTIC_TIMEOUT",
    "log-level": "HOROVOD_LOG_LEVEL",
}
"""horovodrun's options that it hands to the processes as variables."""

RANK_VARIABLES = (
    "RANK", "LOCAL_RANK", "GROUP_RANK", "ROLE_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE",
    "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
)  # fmt: skip
"""Variables that a PyTorch launcher sets for every process itself, whatever the container says."""

_APPTAINER = (
    "-B --bind --env --env-file -W --workdir --pwd --cwd -H --home -o --overlay -S --scratch --mount --app --network "
    "--dns --hostname --fusemount --security --add-caps --drop-caps"
)
_DOCKER = (
    "-v --volume -e --env --env-file -w --workdir -u --user --name --gpus --ipc --network --net --shm-size --ulimit "
    "--mount -p --publish --device --entrypoint --hostname -h --runtime --cap-add --security-opt --memory -m --cpus "
    "--label -l --pid --uts --tmpfs --log-driver -V --image"
)

CONTAINER_RUNNERS: Mapping[str, tuple[tuple[str, ...], str]] = {
    # apptainer(1), docker-run(1), podman-run(1), shifter(1), ch-run(1), sarus(1)
    "apptainer": (("exec", "run"), _APPTAINER),
    "singularity": (("exec", "run"), _APPTAINER),
    "docker": (("run", "exec"), _DOCKER),
    "podman": (("run", "exec"), _DOCKER),
    "podman-hpc": (("run", "exec"), _DOCKER),
    "nerdctl": (("run", "exec"), _DOCKER),
    "shifter": ((), "-i --image -V --volume -e --env --env-file -w --workdir -m --module"),
    "sarus": (("run",), "--mount --entrypoint -w --workdir -e --env --name -n"),
    "ch-run": ((), "-b --bind -c --cd -g --gid -u --uid --set-env --unset-env"),
}
"""Programs that start a command inside another container: the subcommands that do so, and the options that take a
value. The first word that is no option names the image, the rest is the command."""

IMAGE_BY_OPTION: Mapping[str, tuple[str, ...]] = {"shifter": ("-i", "--image")}
"""Of these, the ones that take the image from an option, or from the batch job (`#SBATCH --image`): the first word that
is no option begins the command."""

ISOLATED_RUNNERS = frozenset({"docker", "podman", "podman-hpc", "nerdctl"})
"""Of these, the ones whose containers get no variables but those that their options name."""


def shifter_image(text: str) -> str:
    """The reference of an image as shifter names it (`docker:nersc/pytorch:24.06.01`)."""
    return text.removeprefix("docker:")


NOT_TRAINING = frozenset(
    """
    : . [ [[ (( test true false echo printf cd pushd popd dirs pwd ls ll cat head tail tee grep egrep sed awk cut tr
    sort uniq wc find mkdir rmdir rm cp mv ln touch chmod chown chgrp mktemp readlink realpath basename dirname stat
    file df du mount umount free date sleep wait kill pkill trap exit return set unset export declare local readonly
    source alias ulimit umask shopt read let type command which hash getopts shift break continue builtin clear reset
    jobs fg bg times suspend logout typeset mapfile readarray compgen complete enable caller let id whoami hostname
    hostnamectl uname env printenv ps top htop lscpu lspci lsmod sysctl dmesg nproc ip ifconfig ping nc ncat dig
    nslookup host getent curl wget aria2c git git-lfs tar unzip zip gzip gunzip pigz zstd rsync scp ssh sshd
    ssh-keygen ssh-keyscan ssh-add ssh-agent service systemctl disown apt apt-get dpkg yum dnf apk microdnf zypper
    conda mamba micromamba virtualenv deactivate pip pip3 uv poetry pipenv npm make cmake ninja docker podman nerdctl
    buildah skopeo enroot apptainer singularity sudo gcc g++ nvcc ldconfig module ml spack lmod nvidia-smi rocm-smi
    amd-smi hl-smi neuron-ls neuron-top dcgmi nvidia-cuda-mps-control ibstat ibstatus ibv_devinfo ibv_devices
    ibdev2netdev fi_info show_gids mst nvidia-persistenced nvidia-fabricmanager aws gsutil gcloud az s5cmd rclone mc
    azcopy kubectl helm huggingface-cli hf wandb mlflow tensorboard dvc jq yq envsubst base64 sha256sum md5sum openssl
    seq bc expr time watch yes logger sync scontrol squeue sinfo sbatch scancel sacct sacctmgr salloc sattach scrontab
    jupyter jupyter-lab jupyter-notebook code-server vllm sglang ollama text-generation-launcher tritonserver
    trtllm-serve redis-server etcd mongod postgres nginx supervisord crond all_reduce_perf all_gather_perf
    alltoall_perf broadcast_perf reduce_perf reduce_scatter_perf sendrecv_perf scatter_perf gather_perf hypercube_perf
    ib_write_bw ib_read_bw ib_send_bw ib_write_lat iperf iperf3 fio ior gpu_burn gpu-burn dcgmproftester12 nvbandwidth
    bandwidthTest deviceQuery p2pBandwidthLatencyTest osu_bw osu_latency
    """.split()  # noqa: SIM905 (a list of words reads better)
)
"""Programs that are never the training: shell tools, package managers, clients, servers, checks and benchmarks."""

NOT_TRAINING_MODULES = (
    "pip", "venv", "ensurepip", "virtualenv", "http.server", "json.tool", "pytest", "unittest", "compileall",
    "torch.utils.collect_env", "deepspeed.env_report", "accelerate.commands.env",
    "torch.utils.bottleneck", "huggingface_hub*", "vllm*", "sglang*", "site", "zipfile",
    "tensorboard*", "ipykernel*", "notebook", "jupyter*", "awscli*", "nltk.downloader", "spacy", "ray.util*",
)  # fmt: skip
"""Modules after `python -m` that are never the training."""

HELPER_SCRIPTS = (
    "*preprocess*", "*prepro*", "*prepare*", "*download*", "*convert*", "*tokeniz*", "*merge*", "*export*", "setup.py",
    "*upload*", "*push_*", "*metrics*", "*check_*", "*healthcheck*", "*health_check*", "*verify*", "*validate_env*",
    "*eval*", "*infer*", "*generate*", "*predict*", "*serve*", "*bench*", "*plot*", "*report*", "*stage_*", "*sync_*",
    "*monitor*", "*watchdog*", "*-sync*", "*notify*", "*wait_*",
    "*clean*", "*split_*", "*shard*", "*env2*", "*-test.py", "*_test.py",
    "*-test-*", "*smoke*", "*hello*", "*_to_*", "*print*", "*test_*",
    "*collect_env*", "*get_*", "*hostfile*", "*resolve_*", "*make_*", "*gen_*", "*launch_monitor*", "*dataset*",
)  # fmt: skip
"""Base names of Python scripts that run beside a training: they are taken for it only where nothing else is there."""

CHORES = (
    "pack_*", "prepare_*", "preprocess_*", "convert_*", "tokenize_*", "merge_*", "export_*", "download_*", "build_*",
    "filter_*", "generate_*", "analyze_*", "plot_*", "upload_*",
)  # fmt: skip
"""Base names that begin with a chore: what it is done for (`pack_sft_dataset.py`) may be named behind it."""

TRAINING_SCRIPTS = ("*train*", "*finetun*", "*fine_tun*", "*fine-tun*", "*sft*", "*dpo*", "*ppo*", "*grpo*")
"""Base names that speak of training; they outweigh a helper's pattern (`prepare_and_train.py`)."""
