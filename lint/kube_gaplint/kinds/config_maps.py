"""ConfigMaps and Secrets by what their values are: slurm.conf, user data of machines.

Batch scripts in ConfigMaps are read with those in files (`node_table.file_views`), once every slurm.conf is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from kube_gaplint import lazy_re
from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import cloudinit, slurm_conf
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.inner import decoded
from kube_gaplint.model.nodes import CarriesGpus, NodeBootstrap
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Setting, Unknown
from kube_gaplint.text.nodes import Scalar
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import PlacedText

_USER_DATA = lazy_re.compile(
    r"\s*(#cloud-config|#cloud-boothook|Content-Type:\s*multipart|MIME-Version:)", re.IGNORECASE
)
_USER_DATA_KEYS = frozenset({"userdata", "user-data", "user_data", "value", "cloud-config", "cloudinit", "cloud-init"})


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[object]:
    """The views that stand in the values of a ConfigMap or a Secret."""
    if item.kind == "ConfigMap":
        yield from slurm_conf.in_config_map(item, bundle, profile)
    yield from _user_data(Context(bundle, item, profile))


def _user_data(context: Context) -> Iterator[NodeBootstrap]:
    """User data of machines: told by its first line; encoded values of Secrets by their key too."""
    root = context.root
    for section in ("data", "stringData"):
        for name, part in root.at(section).entries():
            if not isinstance(part.node, Scalar):
                continue
            text: PlacedText | None = scalar_text(part.node)
            if section == "data" and context.object.kind == "Secret":
                text = decoded(scalar_text(part.node)) if name.lower() in _USER_DATA_KEYS else None
            if text is None or not _USER_DATA.match(text.text):
                continue
            setup = cloudinit.read_user_data(text, part.chain)
            actions = setup.actions()
            if actions:
                gpus = CarriesGpus("unknown", "nothing tells which nodes it sets up", part.origin)
                system: Setting[str] = Unknown("the image is not seen", part.origin)
                yield NodeBootstrap(context.subject, part.origin, gpus, system, actions, setup.opaque_because)
