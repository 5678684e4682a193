"""The last steps of every workload, when its pods are read: its processes, what they restart, what it is for."""

from __future__ import annotations

from kube_gaplint.kinds.assembly import over
from kube_gaplint.kinds.purpose import classify
from kube_gaplint.launch.processes import training_processes
from kube_gaplint.model.profile import Profile
from kube_gaplint.model.setting import Absent, Set, Setting
from kube_gaplint.model.training import TrainingProcess
from kube_gaplint.model.workload import RestartLayer, Workload


def finish(workload: Workload, profile: Profile) -> None:
    """Add the processes, the restarts of their launchers, and the purpose."""
    workload.processes = list(training_processes(workload, profile, lambda _role, container: container.files))
    add_launcher_restarts(workload)
    if workload.batch is not None:
        from kube_gaplint.kinds.steps import settle

        settle(workload.batch.steps, workload.processes)
    if workload.batch is None or workload.classified.purpose == "unknown":
        workload.classified = classify(workload)


def add_launcher_restarts(workload: Workload) -> None:
    """torchrun's max_restarts is the innermost layer; it tells elastic jobs from fixed ones too."""
    for process in workload.processes:
        launcher = process.launcher()
        if launcher is None:
            continue
        if isinstance(launcher.elastic, Set) and launcher.elastic.value and _is_false(workload.elastic):
            workload.elastic = launcher.elastic
    layers = [found for process in workload.processes if (found := _layer(process)) is not None]
    if not layers:
        return
    layer = _most_patient(layers)
    others = tuple(one for one in workload.restarts if one.scope != "process")
    if len(others) == len(workload.restarts):  # an elasticPolicy has set it already, and the budget holds it
        workload.restart_budget = _within(workload.restart_budget, layer)
    workload.restarts = (*others, layer)


def _most_patient(layers: list[RestartLayer]) -> RestartLayer:
    """Of the ways to start the training the one with the most restarts; the first where one of them is not known."""
    if not all(isinstance(layer.budget, Set) for layer in layers):
        return layers[0]
    return max(layers, key=lambda layer: layer.budget.value if isinstance(layer.budget, Set) else 0)


def _layer(process: TrainingProcess) -> RestartLayer | None:
    for launcher in reversed(process.launchers):
        if not isinstance(launcher.max_restarts, Absent):
            origin = launcher.max_restarts.origin or launcher.origin
            return RestartLayer(launcher.kind, "process", launcher.max_restarts, origin, frozenset({"failure"}))
    return None


def _within(budget: Setting[int], layer: RestartLayer) -> Setting[int]:
    """The budget with restarts of processes inside every attempt: they multiply like the other layers."""
    outer = RestartLayer("", "workload", budget, layer.origin)
    found = over([outer], layer.budget)
    if isinstance(found, Set) and isinstance(budget, Set) and found.value == budget.value:
        return budget
    return found


def _is_false(setting: Setting[bool]) -> bool:
    return isinstance(setting, Set) and not setting.value
