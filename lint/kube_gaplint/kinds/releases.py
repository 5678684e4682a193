"""Charts that a controller installs: Flux' HelmRelease, Argo CD's Application, the HelmChart of K3s and RKE2.

They carry the values of a chart beside its name, as a mapping or as text. What is not written is the chart's default;
values that come from other objects or files are not seen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kube_gaplint.bundle.bundle import Bundle
from kube_gaplint.bundle.objects import KubeObject
from kube_gaplint.kinds import values
from kube_gaplint.kinds.context import Context
from kube_gaplint.kinds.fields import Part
from kube_gaplint.kinds.inner import inner_yaml
from kube_gaplint.model.profile import Profile
from kube_gaplint.text.nodes import Mapping, Scalar
from kube_gaplint.text.scalar_text import scalar_text

MORE_VALUES = ("valuesFrom", "valueFiles", "parameters", "fileParameters")
"""Fields that bring further values, from elsewhere or over the written ones."""


def adapt(item: KubeObject, bundle: Bundle, profile: Profile) -> Iterable[object]:
    """The views of the values, where the chart is known."""
    context = Context(bundle, item, profile)
    spec = context.root.at("spec")
    if item.kind == "HelmRelease":
        chart = spec.text("chart", "spec", "chart") or spec.text("chartRef", "name") or ""
        yield from _read(context, spec, chart, spec.at("values"))
    elif item.kind == "Application":
        for source in (spec.at("source"), *spec.at("sources").items()):
            helm = source.at("helm")
            chart = source.text("chart") or (source.text("path") or "").rstrip("/")
            written = helm.at("valuesObject") if helm.at("valuesObject").present else helm.at("values")
            if chart:
                yield from _read(context, helm, chart, written)
    else:
        chart = spec.text("chart") or (item.name if item.kind == "HelmChartConfig" else "")
        yield from _read(context, spec, chart, spec.at("valuesContent"))


def _read(context: Context, home: Part, chart: str, written: Part) -> Iterator[object]:
    """`home` holds the values and says where more of them come from."""
    if written.unknown or any(home.at(name).present for name in MORE_VALUES):
        return
    name = chart.rpartition("/")[2]
    part = written
    if isinstance(written.node, Scalar):
        inner = inner_yaml(scalar_text(written.node))
        if inner.broken or not isinstance(inner.root, Mapping | None):
            return
        part = written if inner.root is None else Part.of(inner.root, written.chain)
    elif written.node is not None and not isinstance(written.node, Mapping):
        return
    yield from values.read_chart(name, part, context.subject)
