"""Manifests for the tests of `gaplint show`, and the answer to them."""

from __future__ import annotations

import os
from pathlib import Path

from kube_gaplint import engine
from kube_gaplint.report.show.gather import Choice, gather
from kube_gaplint.report.show.shape import Shown

PYTORCH_JOB = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: nccl-env, namespace: research}
data:
  NCCL_IB_TIMEOUT: "22"
  NCCL_IB_HCA: mlx5
---
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: lm-pretrain
  namespace: research
  annotations: {gaplint.dev/step-seconds: "12"}
spec:
  runPolicy:
    backoffLimit: 6
    activeDeadlineSeconds: 172800
  pytorchReplicaSpecs:
    Master:
      replicas: 1
      restartPolicy: OnFailure
      template: &pod
        metadata:
          annotations: {karpenter.sh/do-not-disrupt: "true"}
        spec:
          priorityClassName: batch-high
          nodeSelector: {pool: h100}
          tolerations:
            - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
          containers:
            - name: pytorch
              image: nvcr.io/nvidia/pytorch:24.05-py3
              command: [bash, -c]
              args:
                - |
                  export NCCL_DEBUG=WARN
                  exec torchrun --nproc-per-node=8 --max-restarts=3 pretrain_gpt.py --train-iters 90000 \\
                    --save /ckpt/lm --load /ckpt/lm --save-interval 500 --micro-batch-size 2 $EXTRA
              envFrom: [{configMapRef: {name: nccl-env}}]
              env:
                - {name: NCCL_SOCKET_IFNAME, value: eth0}
                - {name: HF_TOKEN, value: hf_abcdefghijklmnopqrstuvwxyz}
                - name: WANDB_API_KEY
                  valueFrom: {secretKeyRef: {name: wandb, key: key}}
              resources:
                limits: {nvidia.com/gpu: 8, memory: 900Gi}
              livenessProbe:
                exec: {command: [pgrep, python]}
                periodSeconds: 30
              volumeMounts:
                - {name: ckpt, mountPath: /ckpt}
                - {name: scratch, mountPath: /scratch}
          volumes:
            - {name: ckpt, persistentVolumeClaim: {claimName: ckpt-lm}}
            - {name: scratch, emptyDir: {sizeLimit: 500Gi}}
    Worker:
      replicas: 3
      restartPolicy: OnFailure
      template: *pod
"""

JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: ranks
  labels: {kueue.x-k8s.io/queue-name: gpu}
spec:
  failurePolicy: {maxRestarts: 4}
  replicatedJobs:
    - name: trainer
      replicas: 2
      template:
        spec:
          parallelism: 4
          completions: 4
          backoffLimit: 0
          template:
            spec:
              terminationGracePeriodSeconds: 120
              containers:
                - name: main
                  image: registry.example/team/train:1.4
                  command: [torchrun, --nnodes=8, --nproc-per-node=4, train.py, --config, /etc/train/run.yaml]
                  resources: {limits: {nvidia.com/gpu: "4"}}
                  volumeMounts: [{name: config, mountPath: /etc/train}]
              volumes:
                - {name: config, configMap: {name: run-config}}
"""

BATCH_SCRIPT = """\
apiVersion: v1
kind: ConfigMap
metadata: {name: job-scripts, namespace: slurm}
data:
  finetune.sbatch: |
    #!/bin/bash
    #SBATCH --job-name=finetune
    #SBATCH --nodes=4
    #SBATCH --ntasks-per-node=1
    #SBATCH --gres=gpu:8
    #SBATCH --time=24:00:00
    #SBATCH --requeue
    source /apps/activate.sh
    export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
    srun hostname
    srun --kill-on-bad-exit=1 torchrun --nnodes=4 --nproc-per-node=8 --rdzv-backend=c10d \\
      --rdzv-endpoint="$MASTER_ADDR:29500" pretrain_gpt.py --train-iters 5000 --save /lustre/ft --save-interval 250
    #SBATCH --mem=0
"""

NODE_POOL = """\
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: h100}
spec:
  amiSelectorTerms:
    - {alias: al2023@latest}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: h100}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: h100}
      expireAfter: 336h
      requirements:
        - {key: node.kubernetes.io/instance-type, operator: In, values: [p5.48xlarge]}
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 30m
    budgets:
      - {nodes: "0", reasons: [Drifted], schedule: "0 8 * * 1-5", duration: 10h}
"""

SAMPLES = {
    "pytorchjob": ("lm.yaml", PYTORCH_JOB),
    "jobset": ("ranks.yaml", JOB_SET),
    "batch-script": ("scripts.yaml", BATCH_SCRIPT),
    "nodepool": ("nodes.yaml", NODE_POOL),
}


def understood(folder: Path, file: str, text: str, choice: Choice | None = None) -> Shown:
    """What gaplint makes of one file, which lies in a folder of its own."""
    (folder / file).write_text(text, encoding="utf-8")
    here = Path.cwd()
    os.chdir(folder)  # paths are shown as they are given
    try:
        reading = engine.read(engine.Request(paths=(file,)))
    finally:
        os.chdir(here)
    return gather(
        reading.model.views,
        missed=reading.loaded.bundle.unresolved,
        problems=reading.problems,
        errors=reading.errors,
        summary=reading.summary(),
        choice=choice,
    )


def sample(folder: Path, name: str, choice: Choice | None = None) -> Shown:
    return understood(folder, *SAMPLES[name], choice)
