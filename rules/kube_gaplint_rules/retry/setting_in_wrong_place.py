from __future__ import annotations

from collections.abc import Collection, Iterator

from msgspec.structs import replace

from kube_gaplint import lazy_re
from kube_gaplint.facts.misplaced import Found, strays
from kube_gaplint.findings import Change, Fix, Gap, Related, RemoveEntry, RenameKey, SetKey, Severity
from kube_gaplint.model.fields import plain_value
from kube_gaplint.model.manifest import Manifest
from kube_gaplint.model.profiling import profiles_training
from kube_gaplint.model.setting import Origin, Set
from kube_gaplint.model.workload import Role, Workload
from kube_gaplint.rule import Context, rule

_ELEMENT = lazy_re.compile(r"\[[^\]]*\]")
_SHORTENS = frozenset({"activeDeadlineSeconds", "ttlSecondsAfterFinished", "suspend"})
"""Fields that end, delete or hold something when they come into force: a person should look."""


@rule(
    code="RETRY017",
    name="setting-in-wrong-place",
    view=Manifest,
    severity=Severity.ERROR,
    sources=(
        "kubernetes-job", "jobset-api", "training-operator-v1", "mpi-operator", "kubeflow-trainer-v2", "volcano-job",
        "kuberay", "leader-worker-set",
    ),
    evidence_kind="facts",
)  # fmt: skip
def check(manifest: Manifest, context: Context) -> Iterator[Gap]:
    """A setting for failures stands where the API server drops it, or is misspelt: it looks set and does nothing.

    ## What it flags
    Fields that decide what happens after a failure at places where their kind does not have them: `backoffLimit` or
    `ttlSecondsAfterFinished` directly under a PyTorchJob's spec (they belong to `runPolicy`), `maxRestarts` under a
    JobSet's spec, a Job's fields beside a CronJob's `jobTemplate`, retries on a TrainJob,
    `terminationGracePeriodSeconds` under a container, a Kubeflow pod template's `restartPolicy` that differs from the
    replica's; and misspelt ones (`backOffLimit`). Where it depends on a release that the profile does not declare
    (Trainer's overrides, elasticPolicy in a runtime), it is info. Benchmarks are left alone, but for a training under a
    profiler.

    ## Why it hurts
    The API server prunes unknown fields of custom resources without an error, so that Helm and GitOps tools report
    success. The value can be read in the repository, and the cluster runs with the default: a public 175B recipe has
    its time to live at the wrong level. No incident report names this condition; the rule stands on the types of the
    APIs.

    ## Bad
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      backoffLimit: 20
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## Good
    ```yaml
    apiVersion: kubeflow.org/v1
    kind: PyTorchJob
    metadata: {name: gpt}
    spec:
      runPolicy: {backoffLimit: 20}
      pytorchReplicaSpecs:
        Worker:
          replicas: 4
          restartPolicy: OnFailure
          template:
            spec:
              containers:
              - name: pytorch
                image: nvcr.io/nvidia/pytorch:24.05-py3
                command: [torchrun, train.py]
                resources: {limits: {nvidia.com/gpu: 8}}
    ```

    ## When to keep it
    Never: at best the field misleads its readers. Declare `trainer` in the profile for manifests of older releases.

    ## Fix safety
    Safe where one place is the right one and nothing stands there yet, and the field adds resilience. Deadlines and
    times to live come into force by the fix, so those are unsafe.

    ## References
    - https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning
    - https://github.com/kubeflow/trainer/blob/v1.9.0/pkg/apis/kubeflow.org/v1/common_types.go
    - https://github.com/kubernetes-sigs/jobset/blob/main/api/jobset/v1alpha2/jobset_types.go
    """
    if not manifest.trains and not any(map(_is_profile, manifest.workloads)):
        return
    written = dict.fromkeys(manifest.fields.written())
    for found in strays(manifest.group, manifest.version, manifest.kind, written):
        severity = _severity(found, context)
        key = manifest.fields.key(found.path)
        if severity is not None and key is not None:
            yield _stray(manifest, found, key, written, severity)
    for workload in manifest.workloads:
        for role in workload.roles:
            yield from _overruled(manifest, role)


def _is_profile(workload: Workload) -> bool:
    return any(map(profiles_training, workload.processes))


def _severity(found: Found, context: Context) -> Severity | None:
    """Info where the release decides and is not declared; None where the declared one knows the field."""
    if not found.profile:
        return Severity.ERROR
    release: tuple[int, ...] = getattr(context.profile, found.profile)
    if not release:
        return Severity.INFO if found.since else None
    if (found.since and release < found.since) or (found.until and release >= found.until):
        return None
    return Severity.ERROR


def _stray(manifest: Manifest, found: Found, key: Origin, written: Collection[str], severity: Severity) -> Gap:
    message = f"{manifest.kind} {manifest.version} has no {found.path}: "
    if found.right:
        message += f"it is spelt {found.right_name}" if found.misspelt else f"it belongs at {found.right}"
    else:
        message += found.note
    other = manifest.fields.key(found.right) if found.right else None
    related = () if other is None else (Related(other, "this one is in force"),)
    title = f"rename it to {found.right_name}" if found.misspelt else f"move it to {found.right}"
    changes = _changes(manifest, found, key, written) if found.right and other is None else ()
    return Gap(
        key,
        message,
        "the API server drops it" + _in_force(manifest, found),
        detail=_ELEMENT.sub("", found.path),
        severity=severity,
        related=related,
        fix=Fix(title, changes, safe=found.right_name not in _SHORTENS) if found.right else None,
    )


def _in_force(manifest: Manifest, found: Found) -> str:
    for workload in manifest.workloads:
        value = workload.fields[found.right] if found.right else None
        if isinstance(value, Set):
            default = ", the default" if not value.origin.written else ""
            return f": in force is {found.right_name} {value.value}{default}"
    return ": nothing of it is in force"


def _changes(manifest: Manifest, found: Found, key: Origin, written: Collection[str]) -> tuple[Change, ...]:
    if found.misspelt:
        return (RenameKey(key, found.right_name),)
    value = manifest.fields[found.path]
    if not isinstance(value, Set) or sum(path.endswith(f".{found.name}") for path in written) > 1:
        return ()
    holder, _, rest = found.right.rpartition("]")
    parent = manifest.fields.place(f"{holder}]" if holder else "")
    where = tuple(rest.lstrip(".").split("."))
    return RemoveEntry(replace(key, node=value.origin.node)), SetKey(parent, where, plain_value(value))


def _overruled(manifest: Manifest, role: Role) -> Iterator[Gap]:
    """Kubeflow's operators overwrite the restart policy of the pod template with the replica's."""
    if manifest.group != "kubeflow.org":
        return
    own, template = role.fields["restartPolicy"], role.fields["template.spec.restartPolicy"]
    if not isinstance(own, Set) or not isinstance(template, Set) or own.value == template.value:
        return
    if own.value == "ExitCode" and template.value == "Never":
        return
    changes: tuple[Change, ...] = ()
    if not own.origin.written:
        changes = (RemoveEntry(template.origin), SetKey(role.origin, ("restartPolicy",), template.value))
    default = "" if own.origin.written else ", its default"
    yield Gap(
        template.origin,
        f"restartPolicy {template.value} of the pod template is overwritten: the replica's counts",
        f"in force is {own.value}{default}",
        detail="restartPolicy in the pod template",
        related=(Related(own.origin, f"restartPolicy {own.value}{default}"),),
        fix=Fix("move it to the replica", changes, safe=template.value in ("OnFailure", "Always")),
    )
