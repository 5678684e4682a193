"""What workloads are for: training must show itself, everything else keeps rules for training away."""

from __future__ import annotations

import pytest
from job_samples import gpu_pod, workload

from kube_gaplint.facts import purposes


def purpose(
    command: str = "[]",
    *,
    image: str = "ghcr.io/acme/m:1",
    name: str = "x",
    gpus: int = 8,
    kind: str = "batch/v1 Job",
    container: str = "c",
    extra: str = "",
) -> str:
    version, what = kind.split()
    resources = f"resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}, " if gpus else ""
    pod = f"containers: [{{name: {container}, image: '{image}', {resources}command: {command}{extra}}}]"
    spec = pod if what == "Pod" else f"template: {{spec: {{{pod}}}}}"
    return workload(
        f"apiVersion: {version}\nkind: {what}\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"
    ).classified.purpose


def test_what_else_speaks_where_a_script_may_do_more_than_it_says() -> None:
    prepares = "[bash, -c, '/opt/prepare_template.sh --all; /opt/go.sh']"
    assert purpose(prepares, image="ghcr.io/acme/fastsurfer:2") == "inference"
    assert purpose(prepares) == "unknown"
    assert purpose("[bash, -c, 'prepare_x.sh; torchrun main.py']", image="acme/fastsurfer:2") != "inference"


def test_what_lies_among_the_tests_of_the_software_is_one() -> None:
    pod = gpu_pod("[torchrun, train.py]")
    job = f"apiVersion: batch/v1\nkind: Job\nmetadata: {{name: x}}\nspec: {{template: {pod}}}\n"
    folders = (
        ("tests/functional_tests/gpt/job", "smoke"), (".github/eks/job", "smoke"), (".ci/job", "smoke"),
        ("tests/job", "training"), ("github/job", "training"),
    )  # fmt: skip
    for path, expected in folders:
        assert workload(**{path: job}).classified.purpose == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("[torchrun, main.py]", "training"),
        ("[python, -m, torch.distributed.run, main.py]", "training"),
        ("[accelerate, launch, main.py]", "training"),
        ("[deepspeed, main.py]", "training"),
        ("[python, train_gpt.py]", "training"),
        ("[python, /app/pretrain.py]", "training"),
        ("[python, fine-tune.py]", "training"),
        ("[python, main.py, fit, --lr, 1e-4]", "training"),
        ("[python, main.py, test, --model, x]", "evaluation"),
        ("[python, main.py, predict]", "inference"),
        ("[python, train.py, test]", "training"),
        ("[python, main.py, --num-epochs, '3']", "training"),
        ("[torchrun, main.py, run_type=eval]", "evaluation"),
        ("[python, -m, validator.cluster]", "unknown"),
        ("[bash, -c, 'nvidia-smi; python -c \"import torch; print(torch.cuda.is_available())\"']", "smoke"),
        ("[bash, -c, 'python -c \"m(x).backward(); optimizer.step()\"']", "unknown"),
        ("[bash, -c, 'python -c \"import subprocess; subprocess.run(1)\"']", "unknown"),
        ("[mpirun, -np, '2', python3, -c, 'import torch; print(torch.cuda.is_available())']", "smoke"),
        ("[mpirun, -np, '2', python3, -c, 'm(x).backward(); optimizer.step()']", "unknown"),
        ("[bash, run_fastsurfer.sh, --t1, x.nii]", "inference"),
        ("[torchrun, main.py, --mode, train]", "training"),
        ("[torchrun, main.py, mode=ppl_eval, data=web]", "evaluation"),
        ("[torchrun, main.py, mode=train_eval, data=web]", "training"),
        ("[torchrun, main.py, --epochs, '9', --benchmark_dir, exp]", "benchmark"),
        ("[torchrun, main.py, --epochs, '9', --benchmark-steps, '0']", "training"),
        ("[torchrun, main.py, --inject_faults, --steps=9000]", "benchmark"),
        ("[torchrun, main.py, --inject_faults=false, --steps=9000]", "training"),
        ("[python, main.py, trainer.max_steps=100]", "training"),
        ("[llamafactory-cli, train, x.yaml]", "training"),
        ("[tune, run, full_finetune]", "training"),
        ("[bash, -c, 'nvidia-smi; torchrun main.py']", "training"),
        ("[bash, -c, 'all_reduce_perf -b 8; torchrun train.py']", "training"),
        ("[mpirun, -np, '16', /opt/nccl-tests/build/all_reduce_perf]", "benchmark"),
        ("[mpirun, -np, '16', bash, -c, '/opt/all_gather_perf -b 8']", "benchmark"),
        ("[mpirun, -N, '8', /opt/measure, -b, '8', -e, 16G, -f, '2', -g, '1']", "benchmark"),
        ("[bash, -c, 'mpirun -N 8 $0 -b 8 -e 16G -f 2', PLACEHOLDER]", "benchmark"),
        ("[torchrun, main.py, -b, '8', -e, '16', -f, '2']", "training"),
        ("[bash, -c, 'nvidia-smi; test-llama.sh']", "smoke"),
        ("[bash, -c, 'test_bert.sh; torchrun main.py']", "training"),
        ("[test-training.sh]", "training"),
        ("[bash, -c, 'sleep 1000000 && scripts/train.sh 512']", "interactive"),
        ("[bash, -c, 'sleep 3d; torchrun train.py']", "interactive"),
        ("[bash, -c, 'sleep 1h; torchrun train.py']", "training"),
        ("[bash, -c, 'sleep 1000000 & torchrun train.py']", "training"),
        ("[bash, -c, 'torchrun train.py; sleep 1000000']", "training"),
        ("[dcgmi, diag, -r, '3']", "benchmark"),
        ("[gpu_burn, '60']", "benchmark"),
        ("[osu_allreduce]", "benchmark"),
        ("[python, tf_cnn_benchmarks.py]", "benchmark"),
        ("[torchrun, bench_allreduce.py]", "benchmark"),
        ("[composer, benchmark.py]", "benchmark"),
        ("[torchrun, torch-distributed-gpu-test.py]", "smoke"),
        ("[composer, main.py]", "training"),
        ("[nvidia-smi]", "smoke"),
        ("[bash, -c, 'nvidia-smi && ls /dev/nvidia*']", "smoke"),
        ("[/cuda-samples/vectorAdd]", "smoke"),
        ("[lmp, -in, in.melt]", "simulation"),
        ("[mpirun, -np, '8', gmx_mpi, mdrun, -s, run.tpr]", "simulation"),
        ("[python, pack_sft_dataset.py, --seq-length, '4096', --tokenizer-model, /t]", "processing"),
        ("[bash, -c, 'python preprocess.py && python main.py']", "training"),
        ("[bash, -c, 'python tokenize.py && ./start.sh']", "unknown"),
        ("[python, prepare_and_train.py]", "unknown"),
        ("[sleep, '60']", "smoke"),
        ("[sleep, infinity]", "interactive"),
        ("[bash, -c, 'trap : TERM INT; sleep infinity & wait']", "interactive"),
        ("[tail, -f, /dev/null]", "interactive"),
        ("[jupyter, lab]", "interactive"),
        ("[/usr/sbin/sshd, -D]", "interactive"),
        ("[vllm, serve, llama]", "inference"),
        ("[python, -m, vllm.entrypoints.openai.api_server]", "inference"),
        ("[tritonserver, --model-repository=/m]", "inference"),
        ("[python, serve.py]", "inference"),
        ("[torchrun, generate.py]", "inference"),
        ("[lm_eval, --model, hf]", "evaluation"),
        ("[torchrun, evaluate.py]", "evaluation"),
        ("[python, main.py]", "training"),  # a Python program on 8 accelerators that runs to its end
        ("[python, -m, venv, /v]", "processing"),
        ("[python, -c, 'optimizer = Adam(p, lr=1); loss.backward()']", "training"),
        ("[python, -m, pip, install, deepspeed]", "processing"),
        ("[bash, -c, 'pip install deepspeed; python -m deepspeed.env_report']", "processing"),
        ("[bash, -c, 'pip install deepspeed; python -c \"import deepspeed\"']", "processing"),
        ("[bash, -c, 'pip install deepspeed; python -c \"fit(); import subprocess\"']", "unknown"),
        ("[bash, -c, 'ls | xargs -n 1 -P 4 rsync -t /d']", "processing"),
        ("[bash, -c, 'ls | xargs -n 1 torchrun main.py']", "training"),
        ("[bash, -c, 'echo begin; ./start']", "unknown"),
        ("[bash, -c, 'source ./start; echo end']", "unknown"),
        ("[ssh, node-1, ./start]", "unknown"),
        ("[make, all]", "unknown"),
        ("[echo, hello]", "smoke"),
        ("[torchrun, evaluate_grpo.py]", "evaluation"),
        ("[python, convert_llama_to_hf.py]", "processing"),
        ("[python, merge_lora_weights.py]", "processing"),
        ("[torchrun, --nproc-per-node=8, tools/preprocess_data_dist.py]", "processing"),
        ("[python, -m, torch.distributed.launch, preprocess.py]", "processing"),
        ("[python, tools/process_data_v2.py, --part, train]", "processing"),
        ("[python, data-processing.py]", "processing"),
        ("[python, precompute_train_class.py]", "processing"),
        ("[python, make_training_set.py]", "processing"),
        ("[python, 01_tokenize_train.py, --lr, '1']", "processing"),
        ("[python, -m, sft.compile_sft_corpus]", "processing"),
        ("[python, analyze_training_results.py]", "processing"),
        ("[python, train_bpe_model.py]", "processing"),
        ("[python, train_test_split.py]", "processing"),
        ("[python, dataset_creation.py, --num_epochs, '100']", "processing"),
        ("[bash, write_imagenet.sh]", "unknown"),
        ("[bash, make_train.sh]", "training"),
        ("[torchrun, cls_valid.py]", "evaluation"),
        ("[torchrun, cross_validation.py]", "training"),
        ("[torchrun, finetune_temporal_split.py]", "training"),
        ("[python, step2_process_train.py]", "processing"),
        ("[python, train_data_prep.py]", "unknown"),
        ("[python, data_prep.py]", "processing"),
        ("[python, prepare_and_train.py]", "unknown"),
        ("[python, extract_then_finetune.py]", "training"),
        ("[python, train_extractor.py]", "training"),
        ("[python, train_tokenizer.py]", "training"),
        ("[bash, -c, 'python make_train_set.py && python train.py']", "training"),
        ("[bash, -c, 'python process_data.py && python train.py']", "training"),
        ("[parallel, -j, '4', --joblog, log, --resume, app, '{}', ':::', '1', '2']", "unknown"),
        ("[parallel, -j, '4', --joblog, log, --resume, app, --lr, '{}', ':::', '1', '2']", "training"),
        ("[torchrun, bench/test_internode.py]", "benchmark"),
        ("[torchrun, benchmarks/train.py]", "training"),
        ("[python, main.py, --model_args, pretrained=/m, --num_fewshot, '5']", "evaluation"),
        ("[docker, build, -t, deepspeed, .]", "processing"),
        ("[docker, run, image]", "unknown"),
        ("[docker, run, --gpus=all, m, torchrun, main.py]", "training"),
        ("[bash, -c, 'nvidia-smi; /opt/acme/run']", "unknown"),
        ("[/opt/acme/run]", "unknown"),
    ],
)
def test_by_program(command: str, expected: str) -> None:
    assert purpose(command) == expected


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ("vllm/vllm-openai:v0.6", "inference"),
        ("nvcr.io/nvidia/tritonserver:24.05-py3", "inference"),
        ("nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda12.5", "smoke"),
        ("ghcr.io/coreweave/nccl-tests:12", "benchmark"),
        ("acme/llm-trainer:3", "training"),
        ("acme/m:train", "unknown"),  # a tag is no repository
    ],
)
def test_by_image(image: str, expected: str) -> None:
    assert purpose(image=image) == expected


@pytest.mark.parametrize(
    ("name", "kind", "expected"),
    [
        ("llm-pretrain", "batch/v1 Job", "training"),
        ("nccl-check", "batch/v1 Job", "benchmark"),
        ("node-health-check", "batch/v1 Job", "benchmark"),
        ("gpu-preflight", "batch/v1 Job", "benchmark"),
        ("dev-box", "batch/v1 Job", "interactive"),
        ("llm-pretrain", "apps/v1 Deployment", "unknown"),
    ],
)
def test_by_name_where_nothing_else_tells(name: str, kind: str, expected: str) -> None:
    assert purpose("[/opt/acme/run]", name=name, kind=kind) == expected


@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        ("gpu-preflight", "[torchrun, ranks.py]", "benchmark"),
        ("node-health-check", "[torchrun, ranks.py]", "benchmark"),
        ("validate-cluster", "[torchrun, ranks.py]", "benchmark"),
        ("node-health-check", "[torchrun, train.py]", "training"),  # its program says more than its name
        ("train-gpu-test", "[torchrun, ranks.py]", "training"),
        ("multi-gpu-test", "[torchrun, ranks.py]", "training"),  # it is run on several, and tries none of them out
    ],
)
def test_names_that_try_machines_out_say_more_than_a_launcher(name: str, command: str, expected: str) -> None:
    assert purpose(command, name=name) == expected


def test_what_only_prints_does_not_train_whatever_its_name() -> None:
    assert purpose("[echo, hello]", name="llm-pretrain") == "smoke"
    assert purpose("[aws, s3, sync, a, b]", name="llm-pretrain") == "processing"


def test_a_benchmark_by_name_runs_a_training_program() -> None:
    assert purpose("[torchrun, train.py]", name="llama-benchmark") == "benchmark"
    assert purpose("[torchrun, train.py]", name="llama-nsight") == "benchmark"


@pytest.mark.parametrize(
    ("command", "gpus", "extra", "expected"),
    [
        ("[python, train.py]", 0, "", "cpu"),
        ("[jupyter, lab]", 0, "", "cpu"),
        ("[deepspeed, train.py]", 0, "", "training"),
        ("[torchrun, --nproc-per-node=8, train.py]", 0, "", "training"),
        ("[python, train.py]", 0, ", env: [{name: NCCL_DEBUG, value: INFO}]", "training"),
        ("[python, train.py]", 0, ", env: [{name: CUDA_VISIBLE_DEVICES, value: ''}]", "cpu"),
        ("[python, main.py]", 1, "", "unknown"),
        ("[python, train.py]", 1, "", "training"),
    ],
)
def test_without_accelerators_nothing_trains_on_them(command: str, gpus: int, extra: str, expected: str) -> None:
    assert purpose(command, gpus=gpus, extra=extra) == expected


def test_a_visible_program_without_training_calls_does_not_train() -> None:
    text = """
apiVersion: batch/v1
kind: Job
metadata: {{name: j}}
spec: {{template: {{spec: {{containers: [{{name: c, image: i, command: [python, /s/main.py],
  resources: {{limits: {{nvidia.com/gpu: 8}}}}, volumeMounts: [{{name: s, mountPath: /s}}]}}],
  volumes: [{{name: s, configMap: {{name: scripts}}}}]}}}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: scripts}}
data: {{main.py: "{}"}}
"""
    assert workload(text.format("print(model(x))")).classified.purpose == "processing"
    assert workload(text.format("import torch\\nprint(model(x))")).classified.purpose == "unknown"
    assert workload(text.format("import torch\\nloss.backward()")).classified.purpose == "training"
    scoring = "import torch\\nfrom transformers import AutoModel\\nwith torch.no_grad(): m(x)"
    assert workload(text.format(scoring)).classified.purpose == "inference"
    assert workload(text.format(scoring + "\\nfrom engine import run_epoch")).classified.purpose == "unknown"


def test_the_container_may_say_it() -> None:
    assert purpose("[/opt/acme/run]", container="trainer") == "training"


def test_a_training_kind_with_accelerators_trains() -> None:
    found = workload(
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\n"
        f"spec: {{pytorchReplicaSpecs: {{Worker: {{template: {gpu_pod('[/opt/acme/run]')}}}}}}}\n"
    )
    assert found.classified.purpose == "training"
    assert "PyTorchJob" in found.classified.reason


def test_a_launcher_speaks_for_its_workers() -> None:
    found = workload(
        "apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: j}\nspec:\n  mpiReplicaSpecs:\n"
        "    Launcher: {template: {spec: {containers: [{name: l, image: i, command: [mpirun, all_reduce_perf]}]}}}\n"
        f"    Worker: {{replicas: 2, template: {gpu_pod('[/usr/sbin/sshd, -De]')}}}\n"
    )
    assert found.classified.purpose == "benchmark"


def test_workers_that_wait_for_a_launcher_are_not_idle() -> None:
    found = workload(
        "apiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: j}\nspec:\n  tasks:\n"
        "  - {name: m, replicas: 1, template: {spec: {containers: [{name: l, image: i, command: [/opt/run-it]}]}}}\n"
        f"  - {{name: worker, replicas: 2, template: {gpu_pod('[/usr/sbin/sshd, -D]')}}}\n"
    )
    assert found.classified.purpose == "unknown"


def test_rows_of_the_table_are_lower_case() -> None:
    rows = (*purposes.PROGRAMS, *purposes.LAUNCHERS)
    assert all(row.pattern == row.pattern.lower() for row in rows)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("pretrain_gpt.py", "training"), ("train_and_eval.py", "training"), ("eval_llama.py", "evaluation"),
     ("llama.py", "training"), ("straining.py", None), ("run.sh", None), ("multi-node-serving.sh", "inference")],
)  # fmt: skip
def test_words_of_script_names(name: str, expected: str | None) -> None:
    assert purposes.script(name) == expected


@pytest.mark.parametrize(
    ("options", "purpose"),
    [
        ("--account=six@cpu", "cpu"),
        ("--gres=gpu:0", "cpu"),
        ("--gpus=0", "cpu"),
        ("--partition=cpuonly", "cpu"),
        ("--partition=cpu2021", "cpu"),
        ("--constraint=cpu", "cpu"),
        ("--qos=cpu", "cpu"),
        ("--partition=highmem", "cpu"),
        ("--partition=cpu_gpu", "training"),
        ("--account=six@v100", "training"),
        ("--account=six@cpu --gpus=8", "training"),
    ],
)
def test_jobs_on_processors(options: str, purpose: str) -> None:
    found = workload(job_sbatch=f"#!/bin/bash\n#SBATCH {options}\nsrun python train.py\n")
    assert found.classified.purpose == purpose


@pytest.mark.parametrize(
    ("options", "purpose"),
    [("--device cpu", "cpu"), ("--no-cuda", "cpu"), ("--device cuda", "training"), ("--no-cuda=$X", "training")],
)
def test_programs_that_are_told_to_run_on_processors(options: str, purpose: str) -> None:
    for ask, expected in (("--partition=normal", purpose), ("--gpus=8", "training")):
        found = workload(job_sbatch=f"#!/bin/bash\n#SBATCH {ask}\nsrun python train.py {options}\n")
        assert found.classified.purpose == expected


@pytest.mark.parametrize(
    ("name", "checks", "scales"),
    [
        ("validate_environment.py", True, False), ("validate_and_train.py", False, False), ("train.py", False, False),
        ("net-scaling-test.sh", False, True), ("strong_scaling.sbatch", False, True), ("scaling_laws.sh", False, False),
    ],
)  # fmt: skip
def test_files_that_try_something_out(name: str, checks: bool, scales: bool) -> None:
    assert (purposes.only_checks(name), purposes.measures_scaling(name)) == (checks, scales)
