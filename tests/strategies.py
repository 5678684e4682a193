"""Random manifests and scripts that are mostly valid: what people write, put together anew.

`manifests()` gives YAML of one to three objects, `shell()` a script, `batch()` a script with directives.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

NAMES = st.sampled_from(["train", "pretrain-7b", "tune", "a", "x-0", "${NAME}", "{{ .Release.Name }}"])
IMAGES = st.sampled_from(
    [
        "pytorch/pytorch:2.3.1-cuda12.1-cudnn8-runtime",
        "nvcr.io/nvidia/pytorch:24.05-py3",
        "ghcr.io/acme/train:v3",
        "python:3.12",
        "registry.example.com/a@sha256:" + "0" * 64,
        "train",
        "",
    ]
)
PATHS = st.sampled_from(["/checkpoints", "/mnt/fsx/run", "/tmp/out", "/dev/shm", "s3://bucket/x", "out", "$OUT/x", "/"])
NUMBERS = st.sampled_from([0, 1, 2, 3, 6, 8, 30, 600, 3600, 100_000, -1, 2**31 - 1])
VARIABLES = st.sampled_from(
    [
        "NCCL_DEBUG",
        "NCCL_IB_HCA",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_TIMEOUT",
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        "TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC",
        "MASTER_ADDR",
        "WORLD_SIZE",
        "OMP_NUM_THREADS",
        "CUDA_VISIBLE_DEVICES",
        "OUT",
        "A",
        "WANDB_API_KEY",
        "HF_HOME",
    ]
)
WORDS = st.sampled_from(
    [
        "1",
        "0",
        "22",
        "INFO",
        "eth0",
        "mlx5",
        "true",
        "$(A)",
        "$A",
        "${A:-8}",
        "a b",
        "'",
        "train.py",
        "3600",
        "auto",
        "",
    ]
)

# Shell

OPTIONS = st.sampled_from(
    [
        "--nnodes=4",
        "--nproc-per-node=8",
        "--max-restarts=3",
        "--rdzv-backend=c10d",
        "--save-interval 1000",
        "--save-steps=500",
        "--output_dir=/checkpoints",
        "--save /mnt/x",
        "--resume",
        "--train-iters 500000",
        "--distributed-timeout-minutes 60",
        "$ARGS",
        '"$@"',
        "--config c.yaml",
        "-- x",
    ]
)
STARTS = st.sampled_from(
    [
        "torchrun {o} train.py {o}",
        "python -m torch.distributed.run {o} train.py {o}",
        "python train.py {o}",
        "srun torchrun {o} pretrain_gpt.py {o}",
        "accelerate launch {o} train.py",
        "deepspeed train.py {o}",
        "mpirun -np 16 python train.py {o}",
        "srun --kill-on-bad-exit=1 python train.py {o}",
        "bash run.sh",
        "nohup python train.py {o} &",
        "timeout 1h python train.py {o}",
        "python train.py {o} | tee log.txt",
        "exec python train.py {o}",
    ]
)
LINES = st.one_of(
    st.builds(lambda name, word: f"export {name}={json.dumps(word)}", VARIABLES, WORDS),
    st.builds(lambda name, word: f"{name}={word or 1}", VARIABLES, WORDS.filter(lambda word: word.isalnum())),
    st.sampled_from(
        [
            "set -e",
            "set -euo pipefail",
            "cd /workspace",
            "source env.sh",
            ". /etc/profile",
            "module load cuda",
            "echo $A",
            "wait",
            "sleep 30",
            "trap 'kill 0' EXIT",
            "nvidia-smi",
            "rm -rf /tmp/x",
            "unset A",
            "# a comment",
            "",
            "true",
            "mkdir -p $OUT",
            "ulimit -l unlimited",
            "exit $?",
            "pip install torch==2.3.1",
            "A=$(hostname)",
            'eval "$A"',
        ]
    ),
    st.builds(lambda line, options: line.replace("{o}", " ".join(options)), STARTS, st.lists(OPTIONS, max_size=3)),
)


def _block(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join)
    return st.one_of(
        st.builds('if [ -n "$A" ]; then\n{}\nelse\n{}\nfi'.format, body, body),
        st.builds("for i in 1 2 3; do\n{}\ndone".format, body),
        st.builds("while ! {}; do sleep 1; done".format, st.just("python train.py")),
        st.builds("case $A in\n  a) {} ;;\n  *) {} ;;\nesac".format, body, body),
        st.builds("run() {{\n{}\n}}\nrun a b".format, body),
        st.builds("bash -c '{}'".format, body.filter(lambda text: "'" not in text)),
        st.builds("cat > run.sh <<EOF\n{}\nEOF".format, body),
        st.builds("({}) || exit 1".format, body),
    )


def shell() -> st.SearchStrategy[str]:
    """A script of up to eight statements."""
    statements = st.recursive(LINES, _block, max_leaves=6)
    return st.builds(
        lambda head, lines: "\n".join([*head, *lines]) + "\n",
        st.sampled_from([[], ["#!/bin/bash"], ["#!/bin/bash -e"], ["#!/usr/bin/env bash", "set -x"]]),
        st.lists(statements, max_size=8),
    )


DIRECTIVES = st.one_of(
    st.sampled_from(
        [
            "--nodes=4",
            "-N 2",
            "--gpus-per-node=8",
            "--gres=gpu:a100:8",
            "--time=24:00:00",
            "--requeue",
            "--no-requeue",
            "--ntasks-per-node=8",
            "--signal=B:USR1@600",
            "--array=1-20%1",
            "--open-mode=append",
            "--exclusive",
            "--mem=0",
            "--job-name=pretrain",
            "--output=%x-%j.out",
            "--dependency=singleton",
            "--partition=gpu",
        ]
    ),
    st.builds("--{}={}".format, st.sampled_from(["nodes", "time", "gres", "cpus-per-task", "x"]), WORDS),
)


def batch() -> st.SearchStrategy[str]:
    """A batch script."""
    head = st.lists(DIRECTIVES, max_size=6).map(lambda found: "".join(f"#SBATCH {one}\n" for one in found))
    return st.builds(lambda head, body: f"#!/bin/bash\n{head}{body.removeprefix('#!/bin/bash')}", head, shell())


# Manifests


def _containers() -> st.SearchStrategy[dict[str, Any]]:
    variables = st.lists(
        st.one_of(
            st.fixed_dictionaries({"name": VARIABLES, "value": WORDS}),
            st.fixed_dictionaries(
                {"name": VARIABLES, "valueFrom": st.just({"configMapKeyRef": {"name": "c", "key": "A"}})}
            ),
        ),
        max_size=4,
    )
    commands = st.one_of(
        st.builds(lambda text: {"command": ["bash", "-c", text]}, shell()),
        st.builds(lambda text: {"command": ["/bin/sh", "-ec"], "args": [text]}, shell()),
        st.builds(
            lambda line, options: {"command": line.replace("{o}", " ".join(options)).split()},
            STARTS,
            st.lists(OPTIONS, max_size=3),
        ),
        st.just({}),
    )
    rest = st.fixed_dictionaries(
        {"name": st.sampled_from(["main", "pytorch", "node", "launcher"]), "image": IMAGES},
        optional={
            "env": variables,
            "envFrom": st.just([{"configMapRef": {"name": "c"}}]),
            "resources": st.builds(lambda count: {"limits": {"nvidia.com/gpu": count}}, NUMBERS),
            "volumeMounts": st.builds(lambda path: [{"name": "v", "mountPath": path}], PATHS),
            "livenessProbe": st.just({"exec": {"command": ["true"]}}),
        },
    )
    return st.builds(lambda one, command: one | command, rest, commands)


VOLUMES = st.sampled_from(
    [
        {"emptyDir": {}},
        {"emptyDir": {"medium": "Memory"}},
        {"persistentVolumeClaim": {"claimName": "p"}},
        {"hostPath": {"path": "/x"}},
    ]
)


def _templates() -> st.SearchStrategy[dict[str, Any]]:
    pods = st.fixed_dictionaries(
        {"containers": st.lists(_containers(), min_size=1, max_size=2)},
        optional={
            "restartPolicy": st.sampled_from(["Never", "OnFailure", "Always", "ExitCode", 1, None]),
            "volumes": st.builds(lambda volume: [{"name": "v", **volume}], VOLUMES),
            "terminationGracePeriodSeconds": NUMBERS,
            "nodeSelector": st.just({"gpu": "h100"}),
            "hostNetwork": st.booleans(),
            "priorityClassName": NAMES,
        },
    )
    return st.builds(lambda spec: {"spec": spec}, pods)


def _jobs() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"template": _templates()},
        optional={
            "backoffLimit": NUMBERS,
            "parallelism": NUMBERS,
            "completions": NUMBERS,
            "completionMode": st.sampled_from(["Indexed", "NonIndexed"]),
            "activeDeadlineSeconds": NUMBERS,
            "ttlSecondsAfterFinished": NUMBERS,
            "podFailurePolicy": st.just(
                {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}
            ),
        },
    )


def _replicas() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"template": _templates()}, optional={"replicas": NUMBERS})


def _object(api: str, kind: str, spec: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    metadata = st.fixed_dictionaries(
        {"name": NAMES}, optional={"namespace": st.just("ml"), "annotations": st.just({"gaplint.dev/run-days": "9"})}
    )
    return st.fixed_dictionaries(
        {"apiVersion": st.just(api), "kind": st.just(kind), "metadata": metadata, "spec": spec}
    )


def objects() -> st.SearchStrategy[dict[str, Any]]:
    """An object: a training job of some kind, or something that one refers to."""
    pytorch = st.builds(
        lambda master, worker, policy: {
            "pytorchReplicaSpecs": {"Master": master, "Worker": worker},
            "runPolicy": policy,
        },
        _replicas(),
        _replicas(),
        st.fixed_dictionaries({}, optional={"backoffLimit": NUMBERS, "cleanPodPolicy": st.just("None")}),
    )
    jobset = st.builds(
        lambda jobs, restarts: {
            "replicatedJobs": [{"name": "node", "template": {"spec": job}} for job in jobs],
            "failurePolicy": {"maxRestarts": restarts},
        },
        st.lists(_jobs(), min_size=1, max_size=2),
        NUMBERS,
    )
    data = st.dictionaries(VARIABLES, WORDS, max_size=3)
    return st.one_of(
        _object("batch/v1", "Job", _jobs()),
        _object("kubeflow.org/v1", "PyTorchJob", pytorch),
        _object("jobset.x-k8s.io/v1alpha2", "JobSet", jobset),
        _object("apps/v1", "StatefulSet", _replicas()),
        _object("example.com/v1", "FineTune", _replicas()),
        st.builds(
            lambda name, data: {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data},
            st.sampled_from(["c", "d"]),
            data,
        ),
        _object("karpenter.sh/v1", "NodePool", st.just({"template": {"spec": {}}, "disruption": {"budgets": []}})),
    )


def _written(data: object, indent: int) -> str:
    """Data in block style, with scripts as block scalars and the rest as JSON, which is YAML."""
    pad = "  " * indent
    if isinstance(data, dict) and data:
        return "".join(f"\n{pad}{json.dumps(key)}:{_written(value, indent + 1)}" for key, value in data.items())
    if isinstance(data, list) and data and any(isinstance(item, dict | str) for item in data):
        return "".join(f"\n{pad}-{_written(item, indent + 1)}" for item in data)
    if isinstance(data, str) and "\n" in data.strip("\n") and data == data.lstrip():
        lines = "".join(f"{pad}{line}\n" if line else "\n" for line in data.rstrip("\n").split("\n"))
        return f" |\n{lines}".rstrip("\n")
    return f" {json.dumps(data)}"


def manifests() -> st.SearchStrategy[str]:
    """YAML of up to three objects, in block or in flow style."""
    block = st.lists(objects(), min_size=1, max_size=3).map(
        lambda found: "\n---".join(_written(one, 0) for one in found) + "\n"
    )
    flow = st.lists(objects(), min_size=1, max_size=2).map(
        lambda found: "\n---\n".join(json.dumps(one, ensure_ascii=False) for one in found) + "\n"
    )
    return st.one_of(block, block, flow)
