"""Training processes as branches of the tree: launchers, versions, checkpoints, timeouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kube_gaplint.report.show.shape import Checkpoints, Launcher, Named, Process, Value
from kube_gaplint.report.show.tree import Branch, Row, Run
from kube_gaplint.report.show.tree_parts import table, unknown_row, variables
from kube_gaplint.report.show.words import Places, by_reason, seconds, spaced, text
from kube_gaplint.report.words import count


def process_branch(process: Process, places: Places) -> Branch:
    title: list[Run] = [("process ", "title")]
    if process.program:
        title.append((process.program, "title"))
    else:
        title += [("unknown", "unknown"), (f": {process.opaque_because}", "")]
    title += places.at(process.location)
    if process.certainty == "conditional":
        title.append((f", only {process.condition}" if process.condition else ", under a condition", ""))
    elif process.certainty == "repeated":
        title.append((", in a loop", ""))
    places.add(process.location, *(launcher.location for launcher in process.launchers))
    rows = [_launcher(launcher, places) for launcher in process.launchers]
    if not process.launchers:
        rows.append(Row("launched by", [("nothing but the command itself", "")]))
    if process.wrappers:
        rows.append(Row("behind", [(", ".join(process.wrappers), "")]))
    rows += _framework(process, places)
    rows += _versions(process, places)
    rows += _settings(process, places)
    rows += table("further", process.further, places)
    opened = f", and more may be there: {process.options_open_because}" if process.options_open_because else ""
    rows.append(Row("arguments", [(f"{count(len(process.options), 'option')} by name{opened}", "")]))
    environment = process.environment
    if environment.variables or environment.open_because:
        state: list[Run] = [("besides that of the container", "")]
        if environment.open_because:
            state = [("open", "unknown"), (f": {environment.open_because}", "")]
        rows.append(Row("environment", state, variables(environment, places)))
    return Branch(title, rows)


def _launcher(launcher: Launcher, places: Places) -> Row:
    known, unknown = by_reason(launcher.settings)
    sub = [Row(spaced(one.name), places.value(one.value)) for one in known]
    sub += [unknown_row(value, [spaced(name) for name in names], places) for value, names in unknown]
    return Row("launched by", [(launcher.kind, "title")], sub)


def _framework(process: Process, places: Places) -> Iterator[Row]:
    framework = process.framework
    if framework is not None:
        why = f": {framework.evidence}" if framework.evidence else ""
        yield Row("framework", [(f"{framework.title}{why}", ""), *places.at(framework.location)])
    elif process.uses_torch.state == "set":
        used = (
            "none recognised, it uses torch" if process.uses_torch.value else "none recognised, it does not use torch"
        )
        yield Row("framework", [(used, ""), *places.source(process.uses_torch)])
    else:
        yield Row("framework", [("none recognised", "")])


def _versions(process: Process, places: Places) -> Iterator[Row]:
    """torch and NCCL; where both are unknown for one reason it is said once."""
    torch, nccl = process.torch, process.nccl
    if torch.state == nccl.state == "unknown" and torch.reason == nccl.reason:
        yield Row("torch, NCCL", places.unknown(torch))
        return
    early = ", in a state of development before its release" if process.torch_is_early else ""
    if torch.state == "set":
        yield Row("torch", [(text(torch.value) + early, ""), *places.source(torch)])
    else:
        yield Row("torch", places.value(torch))
    if torch.state == nccl.state == "set" and (torch.note, torch.location) == (nccl.note, nccl.location):
        yield Row("NCCL", [(text(nccl.value), ""), (" (from the same)", "where")])
    else:
        yield Row("NCCL", places.value(nccl))


def _settings(process: Process, places: Places) -> list[Row]:
    """Timeout and checkpoints; one line where all of them are unknown for one reason."""
    found = process.checkpoints
    every = [getattr(found, name) for name in found.__struct_fields__ if name != "storage"]
    values = [process.timeout_seconds, *every]
    if {(value.state, value.reason, value.prefix) for value in values} == {("unknown", found.saving.reason, "")}:
        return [Row("timeout, checkpoints", places.unknown(found.saving))]
    return [
        Row("collective timeout", places.value(process.timeout_seconds, seconds, "not set")),
        _checkpoints(found, places),
    ]


def _checkpoints(found: Checkpoints, places: Places) -> Row:
    rows: list[tuple[str, Value, Callable[[Any], str], str]] = [
        ("every", found.interval, text, "never"),
        ("to", found.path, text, "nowhere"),
        ("second path", found.second_path, text, ""),
        ("length of the run", found.total, text, "not given"),
        ("keeps", found.retention, lambda value: f"the last {text(value)}", "all"),
        ("resumes", found.resume, text, "no"),
        ("asynchronous", found.asynchronous, text, "no"),
        ("in memory", found.in_memory, text, "no"),
        ("best only", found.best_only, text, ""),
        ("saves on a signal", found.signal_save, text, "no"),
        ("ends itself after", found.exit_after_seconds, seconds, ""),
        ("samples a step", found.samples_per_step, text, ""),
    ]
    sub: list[Row] = []
    unknown: list[Named] = []
    for label, value, form, absent in rows:
        if value.state == "unknown" and not value.prefix:
            unknown.append(Named(label, value))
        elif label == "best only" and value.state == "set" and not value.value:
            continue
        elif value.state != "absent" or absent:
            sub.append(Row(label, [*places.value(value, form, absent), *(_storage(found) if label == "to" else [])]))
    for value, names in by_reason(unknown)[1]:
        sub.append(unknown_row(value, names, places))
    saving = found.saving
    state = {"set": "on" if saving.value else "off", "absent": "off"}.get(saving.state)
    if state is None:
        return Row("checkpoints", places.unknown(saving), sub)
    return Row("checkpoints", [(state, ""), *places.source(saving)], sub)


def _storage(found: Checkpoints) -> list[Run]:
    """Where the save path leads: mount and volume, and whether that is there after a failure."""
    storage = found.storage
    if found.path.state == "absent" or (found.path.state == "unknown" and not storage.where):
        return []
    runs: list[Run] = []
    if storage.mount is not None:
        runs.append((f" → mount {text(storage.mount.value)} → volume {storage.volume}", ""))
    elif storage.where:
        runs.append((f" → {storage.where}", ""))
    if storage.state == "unknown":
        return [*runs, ("; whether it is kept is ", ""), ("unknown", "unknown")]
    return [*runs, ("; kept" if storage.state == "kept" else "; lost with it", "")]
