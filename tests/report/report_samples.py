"""Small texts and findings to render."""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from kube_gaplint.findings import FileError, Finding, Fix, Related, RenameKey, Report, Severity, Suppressed
from kube_gaplint.model.setting import Link, Origin, Via
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.source import Place, Source, Span

JOB = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: llama-70b
  namespace: research
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 16
      restartPolicy: Never
      template:
        spec:
          containers:
            - name: pytorch
              image: nvcr.io/nvidia/pytorch:24.05-py3
              command: [bash, /scripts/train.sh]
              env:
                - name: TORCH_NCCL_ASYNC_ERROR_HANDLING
                  value: "0"
              resources:
                limits:
                  nvidia.com/gpu: 8
"""
SCRIPT = """\
apiVersion: v1
kind: ConfigMap
metadata:
  name: scripts
data:
  train.sh: |
    set -euo pipefail
    torchrun --nnodes 16 \\
      pretrain_gpt.py \\
      --train-iters 500000 \\
      --save-interval 25000
"""


@dataclass(frozen=True)
class SampleIncident:
    id: str
    title: str
    organisation: str
    year: int
    sources: tuple[tuple[str, str], ...]
    symptom: str = "A GPU died, and the job stayed in the queue's list without a word."
    cause: str = "The collective waited for a rank that was gone."
    remediation: str = ""
    lesson: str = "Let a dead rank end the job."


BLOOM = SampleIncident(
    "IL-0125",
    "BLOOM: a GPU dies, the job stays in limbo and nothing restarts it",
    "BigScience",
    2022,
    (("Chronicles", "https://github.com/bigscience-workshop/bigscience/blob/master/train/tr11-176B-ml/chronicles.md"),),
)


def incident(identifier: str) -> SampleIncident | None:
    return BLOOM if identifier == "IL-0125" else None


def place(source: Source, text: str, *, nth: int = 0) -> Place:
    at = -1
    for _ in range(nth + 1):
        at = source.text.index(text, at + 1)
    return Place(source, Span(at, at + len(text)))


def origin(source: Source, text: str, *, via: Via = "written", note: str = "", chain: tuple[Link, ...] = ()) -> Origin:
    return Origin(place(source, text), via=via, note=note, chain=chain)


def finding(where: Origin, **changes: object) -> Finding:
    """An error about asynchronous error handling, with what the test changes."""
    base = Finding(
        code="NCCL001",
        name="async-error-handling",
        severity=Severity.ERROR,
        message="TORCH_NCCL_ASYNC_ERROR_HANDLING is 0: when one rank dies, the other 127 wait in a collective for ever",
        consequence="128 GPUs stand idle until somebody looks: 1,024 GPU-hours for each night of 8 hours",
        subject=Subject("PyTorchJob", "kubeflow.org/v1", "research", "llama-70b", "pytorch"),
        origin=where,
        related=(),
        evidence=("IL-0125", "pytorch-97191"),
        fix=Fix("Set TORCH_NCCL_ASYNC_ERROR_HANDLING to 1", (RenameKey(where, "x"),), safe=True),
        fingerprint="0123456789abcdef",
    )
    return replace(base, **changes)  # type: ignore[arg-type]


def sample_report() -> Report:
    """Two files, three findings of which one is suppressed, an error, and things passed over."""
    job, script = Source("train/llama.yaml", JOB), Source("train/scripts.yaml", SCRIPT)
    mount = Link(place(job, "/scripts/train.sh"), "the container runs it from here")
    report = Report()
    report.findings = [
        finding(origin(job, '"0"')),
        finding(
            origin(job, "name: TORCH_NCCL_ASYNC_ERROR_HANDLING"),
            suppressed=Suppressed("restarted by hand", place(job, "env:"), "2027-01-31"),
            fingerprint="0123456789abcde0",
        ),
        finding(
            origin(script, "--save-interval 25000", chain=(mount,)),
            code="CKPT003",
            name="checkpoint-interval-long",
            severity=Severity.WARNING,
            message="a checkpoint every 25,000 steps is one in 20.3 hours; the optimum for 16 nodes is 2.7 hours",
            consequence="each failure loses 10 hours of work on average: 1,300 GPU-hours, about 2 times a week",
            related=(Related(origin(script, "--train-iters 500000"), "the run's length"),),
            evidence=(),
            fix=Fix("Lower --save-interval to about 3,300"),
            fingerprint="0123456789abcdea",
        ),
    ]
    report.errors = [FileError("train/secret.yaml", "permission denied")]
    summary = report.summary
    summary.files, summary.documents, summary.workloads = 2, 2, 1
    summary.hidden, summary.suppressed = 12, 1
    summary.skipped = {"not relevant": 1204, "binary": 3}
    summary.by_kind, summary.by_class = {"PyTorchJob": 1}, {"training": 1}
    return report
