"""The DNS names of a job's pods, as their controllers make them.

Sources: kubernetes/website indexed-job-pod-communication (`$(job)-$(index)` below the pod's subdomain), statefulset
(`$(set)-$(ordinal)` below serviceName), jobset docs (`$(set)-$(job)-$(job index)-$(pod index)` below the set's name or
network.subdomain), Volcano's svc plugin (`$(job)-$(task)-$(index)` below the job's name).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from kube_gaplint import lazy_re
from kube_gaplint.model.rendezvous import holds_all_ranks
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.workload import Role, Workload


class PodNames(Struct, frozen=True):
    """The names of one role's pods. `domain`: the part behind the first dot, absent where they have no such name.

    `own_domain`: no other object's pods have names in that domain.
    """

    pattern: re.Pattern[str]
    shown: str
    domain: Setting[str]
    own_domain: bool


def pod_names(workload: Workload) -> Iterator[PodNames]:
    """The names of the pods by role; nothing for kinds whose rendezvous an operator arranges."""
    name = workload.subject.name
    if not name or name.endswith("-"):
        return
    for role in workload.roles:
        found = _of_role(workload, role, name)
        if found is not None:
            yield found


def _of_role(workload: Workload, role: Role, name: str) -> PodNames | None:
    kind, group = workload.subject.kind, workload.subject.api_version.partition("/")[0]
    origin = workload.origin
    if not isinstance(role.pod.fields.get("hostname", Absent(origin)), Absent):
        return None  # a name of its own
    if kind == "Job" and group == "batch":
        mode = role.fields.get("completionMode")
        if not isinstance(mode, Set) or mode.value != "Indexed":
            return None
        return _names(name, r"\d+", role.pod.fields.get("subdomain", Absent(role.pod.origin)), own=False)
    if kind == "StatefulSet":
        return _names(name, r"\d+", workload.fields.get("spec.serviceName", Absent(origin)), own=False)
    if kind == "JobSet":
        subdomain = workload.fields.get("spec.network.subdomain", Absent(origin))
        domain = Set(name, origin) if isinstance(subdomain, Absent) else subdomain
        return _names(f"{name}-{role.name}", r"\d+-\d+", domain, own=True)
    if kind == "Job" and group == "batch.volcano.sh":
        return _names(f"{name}-{role.name}", r"\d+", Set(name, origin), own=True)
    return None


def _names(prefix: str, index: str, domain: Setting[str], *, own: bool) -> PodNames:
    shown = f"{prefix}-0-0" if "-" in index else f"{prefix}-0"
    return PodNames(re.compile(f"{re.escape(prefix)}-{index}"), shown, domain, own)


def misses(workload: Workload, host: str) -> str:
    """Why a name that means a pod of the job does not resolve to one, in words; empty where it may resolve, or where
    it means something else."""
    first, *rest = host.split(".")
    names = list(pod_names(workload))
    if not names or not rest:
        return ""
    own = next((one for one in names if one.pattern.fullmatch(first)), None)
    if own is None:
        return _stranger(workload, names, first, rest[0])
    if isinstance(own.domain, Absent):
        return "the pods have no subdomain, so that no name leads to one of them"
    if not isinstance(own.domain, Set):
        return ""
    if rest[0] != own.domain.value:
        return f"the pods' names end in .{own.domain.value}"
    namespace = workload.subject.namespace
    if len(rest) > 1 and namespace and rest[1] not in (namespace, "svc"):
        return f"the job's namespace is {namespace}"
    return ""


_OF_A_POD = lazy_re.compile(r"[a-z][a-z0-9-]*-\d+")


def _stranger(workload: Workload, names: list[PodNames], first: str, domain: str) -> str:
    """A name that is meant for a pod and that no pod of the job has: in the job's own domain, or, where all ranks are
    pods of the job, anywhere."""
    in_domain = any(one.own_domain and isinstance(one.domain, Set) and one.domain.value == domain for one in names)
    if not in_domain and not (_OF_A_POD.fullmatch(first) and holds_all_ranks(workload)):
        return ""
    return f"no pod of the job is called {first}; the first is {' or '.join(sorted({one.shown for one in names}))}"
