"""Outer owners of a job that a label or annotation gives away, and what they restart.

A tool that submits jobs (Flyte, Airflow, Kubeflow Pipelines …) retries them by settings that stand in its own code, so
a job with such a label has an unknown budget above its own.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class OwnerMark(Struct, frozen=True):
    """A label or annotation key (`prefix` ends in `/` or `-`) and the tool that writes it."""

    key: str
    tool: str
    prefix: bool = False


MARKS: tuple[OwnerMark, ...] = (
    OwnerMark("workflows.argoproj.io/", "Argo Workflows", True),
    OwnerMark("flyte.org/", "Flyte", True),
    OwnerMark("flyte/", "Flyte", True),
    OwnerMark("airflow_version", "Airflow"),
    OwnerMark("airflow-worker", "Airflow"),
    OwnerMark("kubernetes_pod_operator", "Airflow"),
    OwnerMark("dag_id", "Airflow"),
    OwnerMark("pipelines.kubeflow.org/", "Kubeflow Pipelines", True),
    OwnerMark("pipeline/runid", "Kubeflow Pipelines"),
    OwnerMark("metaflow/", "Metaflow", True),
    OwnerMark("metaflow.org/", "Metaflow", True),
    OwnerMark("dagster/", "Dagster", True),
    OwnerMark("prefect.io/", "Prefect", True),
    OwnerMark("tekton.dev/", "Tekton", True),
    OwnerMark("skypilot-", "SkyPilot", True),
    OwnerMark("skypilot/", "SkyPilot", True),
    OwnerMark("dstack.ai/", "dstack", True),
    OwnerMark("zenml", "ZenML"),
    OwnerMark("polyaxon.com/", "Polyaxon", True),
    OwnerMark("determined.ai/", "Determined", True),
)


def outer_tool(keys: Iterable[str]) -> str:
    """The tool that the keys of labels or annotations give away; empty where none does."""
    for key in keys:
        for mark in MARKS:
            if key.startswith(mark.key) if mark.prefix else key == mark.key:
                return mark.tool
    return ""
