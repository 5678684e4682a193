"""`ray job submit … -- command`: a driver in the cluster, with the runtime environment's variables."""

from __future__ import annotations

from kube_gaplint.launch.config_files import Config, read_config
from kube_gaplint.launch.launchers.base import Call, Layer, make_launcher, spec_of
from kube_gaplint.launch.options import parse_launcher
from kube_gaplint.launch.shell_text import FixedText
from kube_gaplint.model.setting import Set, Setting
from kube_gaplint.model.training import Options


def read(call: Call) -> Layer:
    parsed = parse_launcher(call.arguments, call.home, spec_of(call.facts))
    exports: dict[str, Setting[str]] = {}
    config = _runtime_environment(parsed.options, call)
    reason = ""
    if config is not None:
        exports = {config.written[f"env-vars.{name}"].split(".", 1)[1]: v for name, v in config.under("env-vars")}
        reason = config.open_because
    launcher = make_launcher(call, parsed.options, exports=exports)
    return Layer(launcher, parsed.rest, call.environment.over(exports, reason), "command")


def _runtime_environment(options: Options, call: Call) -> Config | None:
    inline = options.find("runtime-env-json")
    if inline is not None:
        if not isinstance(inline.value, Set):
            return Config("", call.home, open_because="the runtime environment is not visible")
        return read_config(FixedText(inline.value.value, inline.value.origin.place), "runtime-env.json")
    file = options.find("runtime-env")
    if file is not None:
        text = call.files(file.value.value) if isinstance(file.value, Set) else None
        if text is None:
            return Config("", call.home, open_because="the runtime environment's file is not visible")
        return read_config(text, "runtime-env.yaml")
    return None
