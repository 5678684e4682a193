"""Views of nodes and Slurm out of texts, for the tests of their adapters."""

from __future__ import annotations

from typing import TypeVar

from kube_gaplint.bundle.bundle import Bundle, ScriptFile
from kube_gaplint.bundle.objects import objects_in
from kube_gaplint.discover import FileId
from kube_gaplint.kinds import node_table
from kube_gaplint.kinds.batch import BatchScript, adapt_script
from kube_gaplint.model.nodes import UpgradeAction
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.slurm import Batch
from kube_gaplint.model.workload import Workload
from kube_gaplint.text.compose import compose
from kube_gaplint.text.source import Source, WholeText

T = TypeVar("T")


def bundle_of(**files: str) -> Bundle:
    """A bundle of YAML files; names end in `_conf` for slurm.conf and in `_sbatch` for batch scripts."""
    bundle = Bundle()
    for name, text in files.items():
        if name.endswith("_conf"):
            bundle.slurm_confs.append(ScriptFile(Source(f"repo/{name}/slurm.conf", text), FileId("slurm.conf")))
            continue
        if name.endswith("_sbatch"):
            bundle.scripts.append(ScriptFile(Source(f"repo/{name}.sbatch", text), FileId(f"{name}.sbatch")))
            continue
        path = f"repo/{name}.yaml"
        for document in compose(Source(path, text)).documents:
            objects = objects_in(document, FileId(path))
            for item in objects:
                bundle.add(item)
            if not objects:
                bundle.others.append(document)
    return bundle


def manifest(api_version: str, kind: str, spec: str, name: str = "a", key: str = "spec") -> str:
    """A document with one object; `spec` is what stands between the braces."""
    return f"---\napiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: {name}}}\n{key}: {{{spec}}}\n"


def all_views(text: str = "", /, **files: str) -> list[object]:
    """Every view of nodes and Slurm."""
    bundle = bundle_of(**({"main": text} if text else {}), **files)
    profile = Profile()
    found = [view for item in bundle.objects for view in node_table.node_views(item, bundle, profile)]
    found.extend(view for _, view in node_table.file_views(bundle, profile))
    return found


def views(kind: type[T], text: str = "", /, **files: str) -> list[T]:
    """The views of one type."""
    return [view for view in all_views(text, **files) if isinstance(view, kind)]


def only(kind: type[T], text: str = "", /, **files: str) -> T:
    """The one view of a type."""
    found = views(kind, text, **files)
    assert len(found) == 1, [type(view).__name__ for view in all_views(text, **files)]
    return found[0]


def workload(script: str, profile: Profile | None = None, name: str = "train.sbatch") -> Workload:
    """The workload that a batch script is."""
    text = WholeText(Source(name, script))
    return adapt_script(BatchScript(text, name, name), Bundle(), profile or Profile())


def batch(script: str, profile: Profile | None = None) -> Batch:
    found = workload(script, profile).batch
    assert found is not None
    return found


def value(setting: Setting[T]) -> T | str:
    """A set value; "absent" or "unknown" otherwise."""
    if isinstance(setting, Set):
        return setting.value
    return "absent" if isinstance(setting, Absent) else "unknown"


def kinds(actions: tuple[UpgradeAction, ...]) -> list[str]:
    return [action.kind for action in actions]


def line(setting: Setting[T]) -> int:
    """The line that a setting stands on."""
    assert setting.origin is not None
    return setting.origin.place.start.line
