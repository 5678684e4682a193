"""From a bundle to what the rules look at: one view after the other, so that none is kept longer than it is judged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from kube_gaplint.facts.misplaced import is_known
from kube_gaplint.kinds import POOL_KINDS, node_table, views_of
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.finish import finish
from kube_gaplint.kinds.paths import fields_of
from kube_gaplint.kinds.surroundings import Around
from kube_gaplint.kinds.tenants import tenant_of
from kube_gaplint.model.manifest import Manifest
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.surroundings import Pools
from kube_gaplint.model.tenants import Tenant
from kube_gaplint.model.workload import Workload
from kube_gaplint.share import ALL, Share

if TYPE_CHECKING:
    from kube_gaplint.bundle.bundle import Bundle
    from kube_gaplint.bundle.objects import KubeObject
    from kube_gaplint.kinds.generic import UserKind
    from kube_gaplint.kinds.node_links import Housing
    from kube_gaplint.model.slurm import SlurmConf

_RUNTIMES = frozenset({"TrainingRuntime", "ClusterTrainingRuntime"})


_NO_POOLS = Pools()

Order: TypeAlias = tuple[int, int]
"""The section of a view and its place therein: what comes of objects, of files, of scripts inside of workloads, and
objects as they are written. By it findings are put in one order, whatever the shares."""


class Views:
    """The typed views over everything in a bundle, each with its order.

    A view that must know of all workloads (see `waits`) is complete after `tell`. Forks of one process may ask for a
    share each.
    """

    def __init__(
        self,
        bundle: Bundle,
        profile: Profile,
        user_kinds: Sequence[UserKind] = (),
        wanted: Callable[[KubeObject | None], bool] | None = None,
    ) -> None:
        """`user_kinds` are kinds from the configuration. `wanted`: the objects that are to be understood, and for None
        whether batch scripts are."""
        self.tenants: list[Tenant] = []
        """What pools are told of the workloads that were given so far."""
        self._bundle = bundle
        self._profile = profile
        self._shown = {(one.group, one.kind): one for one in user_kinds}
        # The pools come first: workloads know which there are.
        pools = {id(item): list(self._of(item)) for kind in POOL_KINDS for item in bundle.by_kind(None, kind)}
        self._pools = pools
        self._housing = None if not pools else _housing(pools.values(), bundle.templates)
        self._wanted = wanted if self._housing is None else None
        self._around = Around(bundle, profile)
        self._waiting: dict[int, object] = {}
        """By identity, the views that must know of all workloads."""

    def of(self, share: Share = ALL) -> Iterator[tuple[Order, object]]:
        """The views of one share, once."""
        for number, item in enumerate(self._bundle.objects):
            pools = self._pools.get(id(item))
            if pools is not None:
                for view in pools if share.first else ():
                    yield from self._complete(view, item, (0, number))
            elif share.has(number) and self._is_wanted(item):
                yield from self._of_object(item, number)
        scripts = self._wanted is None or self._wanted(None)
        for number, view in node_table.file_views(self._bundle, self._profile, scripts=scripts, share=share):
            yield from self._complete(view, None, (1, number))

    def waits(self, view: object) -> bool:
        """Whether a view that was given must know of all workloads before it is judged."""
        return id(view) in self._waiting

    def tell(self, tenants: Sequence[Tenant]) -> None:
        """Tell what waits for it of all GPU workloads of the run."""
        if self._housing is not None:
            self._housing.tell(tenants)
        if self._waiting:
            from kube_gaplint.kinds.node_links import cover

            cover(self._waiting.values(), next(iter(tenants), None))
            self._waiting = {}

    def first_tenant(self) -> Sequence[Tenant]:
        """The first GPU workload among all objects, for a share that does not see the others; or none."""
        for item in self._bundle.objects if self._waiting else ():
            for view in self._of(item):
                tenant = tenant_of(view) if isinstance(view, Workload) else None
                if tenant is not None:
                    return (tenant,)
        return ()

    def _is_wanted(self, item: KubeObject) -> bool:
        # That there are GPU workloads at all is evidence, too: all is understood up to the first one.
        return self._wanted is None or not self.tenants or self._wanted(item)

    def _of(self, item: KubeObject) -> Iterable[object]:
        return views_of(item, self._bundle, self._profile, self._shown)

    def _of_object(self, item: KubeObject, number: int) -> Iterator[tuple[Order, object]]:
        workloads = []
        for view in self._of(item):
            if isinstance(view, Workload):
                workloads.append(view)
            yield from self._complete(view, item, (0, number))
        manifest = _manifest(item, workloads, self._bundle, self._profile)
        if manifest is not None:
            yield (3, number), manifest

    def _complete(self, view: object, item: KubeObject | None, order: Order) -> Iterator[tuple[Order, object]]:
        """A view with all that is known about it, and those of its parts."""
        if not isinstance(view, Workload):
            from kube_gaplint.kinds.node_links import must_know_workloads

            if must_know_workloads(view):
                self._waiting[id(view)] = view
            yield order, view
            return
        finish(view, self._profile)
        tenant = tenant_of(view)
        if tenant is not None:
            self.tenants.append(tenant)
        pools = _NO_POOLS if self._housing is None else self._housing.of(tenant)
        view.surroundings = self._around.of(view, item, pools)
        yield order, view
        if view.batch is not None:
            yield order, view.batch
        yield from ((order, process) for process in view.processes)
        for script in node_table.inside(view) if view.batch is None else ():
            from kube_gaplint.kinds import batch

            inner = batch.adapt_script(script, self._bundle, self._profile, self._slurm_confs)
            yield from self._complete(inner, None, (2, order[1]))

    @cached_property
    def _slurm_confs(self) -> list[SlurmConf]:
        from kube_gaplint.kinds import batch

        return batch.all_confs(self._bundle, self._profile)


def _housing(pools: Iterable[list[object]], templates: Sequence[str]) -> Housing:
    from kube_gaplint.kinds.node_links import Housing

    return Housing((view for views in pools for view in views), templates)


def _manifest(item: KubeObject, workloads: list[Workload], bundle: Bundle, profile: Profile) -> Manifest | None:
    """The object as it is written, where a table knows what may stand astray in its kind."""
    if not is_known(item.group, item.version, item.kind) or not (workloads or item.kind in _RUNTIMES):
        return None
    context = Context(bundle, item, profile)
    return Manifest(
        subject=context.subject,
        origin=context.origin,
        group=item.group,
        version=item.version,
        kind=item.kind,
        fields=fields_of(context.root),
        workloads=tuple(workloads),
    )
