"""Workloads out of small manifests, for the tests of job kinds."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace
from node_samples import bundle_of

from kube_gaplint.kinds import Model, build
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.workload import UNBOUNDED, Container, Role, Workload

T = TypeVar("T")

ABSENT = "absent"
UNKNOWN = "unknown"
ENDLESS = UNBOUNDED


def model(text: str = "", /, profile: Profile | None = None, **files: str) -> Model:
    """The views over some manifests, one file each."""
    return build(bundle_of(**({"main": text} if text else {}), **files), profile or Profile())


def workloads(text: str = "", /, profile: Profile | None = None, **files: str) -> list[Workload]:
    return model(text, profile, **files).workloads


def workload(text: str = "", /, profile: Profile | None = None, **files: str) -> Workload:
    found = workloads(text, profile, **files)
    assert len(found) == 1, [one.subject for one in found]
    return found[0]


def profile(**fields: object) -> Profile:
    return replace(Profile(), **fields)  # type: ignore[arg-type]


def plain(setting: Setting[T] | None) -> T | str:
    """The value, or in a word why there is none."""
    if isinstance(setting, Set):
        return setting.value
    return ABSENT if isinstance(setting, Absent) else UNKNOWN


def role(found: Workload, name: str) -> Role:
    return next(one for one in found.roles if one.name == name)


def main(found: Workload, name: str | None = None) -> Container:
    """The first container of a role (of the first one)."""
    chosen = found.roles[0] if name is None else role(found, name)
    return chosen.pod.containers[0]


def layers(found: Workload) -> list[tuple[str, str, int | str, str]]:
    """Restarts by controllers as (owner, scope, budget, first letters of what it reacts to)."""
    return [
        (one.owner, one.scope, plain(one.budget), "".join(sorted(name[0] for name in one.on)))
        for one in found.restarts
        if one.scope != "process"
    ]


def gpu_pod(command: str = "[torchrun, --nproc-per-node=8, train.py]", gpus: int = 8, **spec: str) -> str:
    """A pod template in one line."""
    rest = "".join(f"{key}: {value}, " for key, value in spec.items())
    return (
        f"{{spec: {{{rest}containers: [{{name: pytorch, image: 'ghcr.io/acme/m:1', command: {command}, "
        f"resources: {{limits: {{nvidia.com/gpu: {gpus}}}}}}}]}}}}"
    )
