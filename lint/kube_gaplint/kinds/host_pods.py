"""Pods, Jobs and CronJobs that run commands on their host: the same views as for DaemonSets that do.

Source row: k8s.md D "host-shell DaemonSet".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.host_access import may_enter_host
from kube_gaplint.kinds.pods import read_pod
from kube_gaplint.model.profile import Profile

if TYPE_CHECKING:
    from kube_gaplint.model.nodes import HostAgent, NodeBootstrap

_TEMPLATES = {
    "Pod": (),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[HostAgent | NodeBootstrap]:
    """What the pods of an object do to their host; nothing for those that cannot reach it."""
    context = Context(bundle, item, profile)
    template = context.root.at(*_TEMPLATES[item.kind])
    spec = template.at("spec")
    if may_enter_host(spec):
        from kube_gaplint.kinds.daemonsets import host_views, pod_gpus

        yield from host_views(context, read_pod(template, context), pod_gpus(spec))
