"""Batch scripts as branches of the tree: directives and steps."""

from __future__ import annotations

from kube_gaplint.report.show.shape import Batch, Directive, Step
from kube_gaplint.report.show.tree import Branch, Row, Run
from kube_gaplint.report.show.tree_parts import given
from kube_gaplint.report.show.words import Places, cut, seconds, text


def batch_branch(batch: Batch, places: Places) -> Branch:
    directives = [_directive(one, places) for one in batch.directives]
    rows = [
        Row("#SBATCH", [] if directives else [("no directive", "")], directives),
        Row("requeue", places.value(batch.requeue)),
        Row("starts again", places.value(batch.continuation, absent="not after a crash of its own")),
        Row("open mode", places.value(batch.open_mode)),
        Row(
            "slurm.conf", [("none in the given paths", "")] if batch.slurm_conf is None else places.at(batch.slurm_conf)
        ),
    ]
    return Branch([("batch script", "title")], rows, [_step(step, places) for step in batch.steps])


def _directive(one: Directive, places: Places) -> Row:
    given: list[Run] = [("given", ""), *places.source(one.value)]
    runs = given if one.value.value == "" else places.value(one.value)
    if not one.in_force:
        runs += [(", ", ""), ("not in force", "unknown"), (f": {one.problem}", "")]
    return Row(f"--{one.name}" if one.name[:1].isalnum() else one.name, runs)


def _step(step: Step, places: Places) -> Branch:
    title: list[Run] = [(f"step {step.launcher}", "title"), *places.at(step.location)]
    if not step.trains:
        return Branch([*title, (f", no training: {cut(step.command)}", "")])
    rows = [
        Row("nodes", places.value(step.nodes)),
        Row("tasks", places.value(step.tasks)),
        Row("kill on bad exit", places.value(step.kill_on_bad_exit, absent="not set")),
        Row("wait", places.value(step.wait_seconds, seconds, "not set")),
        *given(places, ("no kill", step.no_kill, text)),
    ]
    if step.image is not None:
        rows.append(Row("image", places.value(step.image)))
    return Branch(title, rows)
