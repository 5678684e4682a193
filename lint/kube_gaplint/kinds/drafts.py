"""Workloads on GPU nodes in templates that are not filled in, which are no objects: what their text shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kube_gaplint import lazy_re
from kube_gaplint.facts import purposes
from kube_gaplint.facts.accelerators import device, selects
from kube_gaplint.model.tenants import Draft

_BOUNDARY = lazy_re.compile(r"^---", re.MULTILINE)
_KIND = lazy_re.compile(r"^kind:[ \t]*[\"']?([A-Za-z]+)", re.MULTILINE)
_PAIR = lazy_re.compile(r"(?<![\w./-])([\w./-]{1,100})[\"']?[ \t]*:[ \t]*[\"']?([\w.-]{1,100})?")
_SERVING = frozenset(kind for _, kind in purposes.SERVING_KINDS) - {"Service"}
_SERVERS = frozenset({"Deployment", "ReplicaSet"})
"""Kinds that replace their pods one by one."""
_NO_WORKLOADS = frozenset({
    "DaemonSet", "ConfigMap", "Secret", "Service", "Namespace", "NodePool", "Provisioner", "EC2NodeClass",
    "ClusterPolicy", "ResourceQuota", "LimitRange", "ResourceFlavor", "ClusterQueue", "PriorityClass", "RuntimeClass",
    "Kustomization", "CustomResourceDefinition", "Role", "ClusterRole", "RoleBinding", "ClusterRoleBinding",
    "ServiceAccount", "HelmRelease", "Application", "ComputeClass", "ClusterConfig",
})  # fmt: skip
"""Kinds that speak of GPUs and run nothing on them that matters to a pool."""

_DEVICES = ("gpu", "nvidia", "accelerator", "tpu", "neuron", "gaudi", "npu", "huawei.com/", "dcu", "mlu")
"""Parts of the names of accelerators' resources and labels; a text without any needs no closer look."""


def drafts(texts: Iterable[str]) -> Iterator[Draft]:
    """The workloads with accelerators in the texts of templates."""
    for text in texts:
        for document in _BOUNDARY.split(text):
            found = _draft(document)
            if found is not None:
                yield found


def _draft(document: str) -> Draft | None:
    kind = _KIND.search(document)
    if kind is not None and kind[1] in _NO_WORKLOADS:
        return None
    lower = document.lower()
    if not any(word in lower for word in _DEVICES):
        return None
    pairs = frozenset(_PAIR.findall(document))
    if not any(device(name) or selects(name) for key, value in pairs for name in (key, value)):
        return None
    words = frozenset(purposes.words_of(document))
    trains = not purposes.TRAINING_WORDS.isdisjoint(words)
    says = not purposes.SERVING_WORDS.isdisjoint(words) and not trains
    name = "" if kind is None else kind[1]
    serves = name in _SERVING or (name in purposes.SERVER_KINDS and says)
    return Draft(serves, serves or (name in _SERVERS and not trains), pairs)
