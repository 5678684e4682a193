from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launch_words import command, placed

from kube_gaplint.launch.config_files import read_config, written_files
from kube_gaplint.launch.frameworks import understand
from kube_gaplint.launch.launchers import peel_all
from kube_gaplint.model.command import Heredoc, Script
from kube_gaplint.model.setting import Absent, Set, Setting, Unknown
from kube_gaplint.text.source import no_files

NESTED = {
    "/c.yaml": "trainer:\n  max_steps: 10\n  callbacks:\n  - _target_: x\n    every: 5\n  tags: [a, b]\nopen: true\n",
    "/c.json": '{"trainer": {"max_steps": 10, "callbacks": [{"every": 5}], "tags": ["a", "b"]}, "open": true}',
}


@pytest.mark.parametrize("path", NESTED)
def test_nested_keys_are_flat(path: str) -> None:
    config = read_config(placed(NESTED[path], path), path)
    values = {name: setting.value for name, setting in config.values.items() if isinstance(setting, Set)}
    assert values["trainer.max-steps"] == "10"
    assert values["trainer.callbacks.0.every"] == "5"
    assert values["trainer.tags"] == "a,b"
    assert values["open"] == "true"
    assert dict(config.under("trainer"))["max-steps"] == config.get("trainer.max_steps")
    assert isinstance(config.get("absent"), Absent)


def test_deep_nesting_is_read() -> None:
    text = "".join(f"{'  ' * depth}k{depth}:\n" for depth in range(20)) + "  " * 20 + "last: 1\nnext: 2\n"
    config = read_config(placed(text, "/c.yaml"), "/c.yaml")
    assert isinstance(config.get(".".join(f"k{depth}" for depth in range(20)) + ".last"), Set)
    assert isinstance(config.get("absent"), Absent)


def test_toml() -> None:
    text = "title = 'x' # c\r\n[a]\r\nb = 1_000\r\nc = [1, 2]\r\n[a.d]\r\n\"e f\" = true\r\n[[l]]\r\nm = 2\r\n"
    config = read_config(placed(text, "/c.toml"), "/c.toml")
    values = {name: setting.value for name, setting in config.values.items() if isinstance(setting, Set)}
    assert values == {"title": "x", "a.b": "1000", "a.c.0": "1", "a.c.1": "2", "a.d.e f": "true", "l.0.m": "2"}


def test_options_change_what_references_give() -> None:
    files = {
        "/c.yaml": placed("output_dir: /tmp/x\ncheckpointer:\n  output_dir: ${output_dir}\nepochs: 3\n", "/c.yaml")
    }

    def saves_to(line: str) -> Setting[str]:
        given = command(f"tune run --nnodes 2 full_finetune_distributed --config /c.yaml {line}")
        peeled = next(iter(peel_all(given, files=files.get)))
        return understand(peeled, files=files.get).settings.save_path

    plain, given, other = saves_to(""), saves_to("output_dir=/shared/y"), saves_to("output_dir=/shared/$RUN")
    assert isinstance(plain, Set)
    assert plain.value == "/tmp/x"
    assert isinstance(given, Set)
    assert given.value == "/shared/y"
    assert isinstance(other, Unknown)


def test_references_within_a_file_are_followed() -> None:
    text = "run: a\nbase: /c/${run}\nsave: ${base}/ck\nloop: ${loop}\nother: ${env:X}\n"
    config = read_config(placed(text), "c.yaml")
    found = config.get("save")
    assert isinstance(found, Set) and found.value == "/c/a/ck"
    assert isinstance(config.get("loop"), Unknown)
    assert isinstance(config.get("other"), Unknown)


def test_shell_variables_in_a_here_document() -> None:
    config = read_config(placed("a: $X\nb: /c/${Y}/d\nc: plain\n"), "c.yaml", expanded=True)
    assert isinstance(config.get("a"), Unknown)
    partly = config.get("b")
    assert isinstance(partly, Unknown) and partly.prefix == "/c/"
    assert isinstance(config.get("c"), Set)


def test_files_that_a_script_writes() -> None:
    script = Script(placed(""), "bash")
    script.heredocs.append(Heredoc(placed("a: 1\n"), True, "cat", "/opt/conf/c.yaml"))
    files = written_files([script], no_files)
    for path in ("/opt/conf/c.yaml", "conf/c.yaml", "/opt/conf/../conf/c.yaml"):
        found = files(path)
        assert found is not None and found.text == "a: 1\n"
    assert files("/other/c.yaml") is None
    assert files("d.yaml") is None


@given(
    st.sampled_from(["/c.yaml", "/c.toml", "/c.json"]), st.text(alphabet="ab:-[]{}=\"'# \n\t$&*.0é\ue000", max_size=60)
)
def test_any_text_is_read(path: str, text: str) -> None:
    config = read_config(placed(text, path), path, expanded=True)
    for setting in config.values.values():
        if setting.origin is not None:
            span = setting.origin.place.span
            assert 0 <= span.start <= span.end <= len(text)


_PROGRAMS = st.sampled_from(
    ["torchrun", "srun", "mpirun", "python", "-m", "deepspeed", "accelerate", "launch", "composer", "bash", "-c", "env"]
)
_PIECES = st.one_of(
    _PROGRAMS, st.text(alphabet="-=+.$aK1/'", min_size=1, max_size=8), st.sampled_from(["t.py", "c.yaml"])
)


@settings(deadline=None)  # the first command loads the grammar
@given(st.lists(_PIECES, min_size=1, max_size=14))
def test_any_command_is_peeled_and_understood(pieces: list[str]) -> None:
    line = " ".join(pieces)
    if not line.replace("'", "").strip():
        return
    for peeled in peel_all(command(line)):
        found = understand(peeled)
        assert isinstance(found.settings.saving, Set | Absent | Unknown)
        assert peeled.program or peeled.opaque_because or peeled.form == "inline"


PYTHON = """
import ml_collections


def get_config():
    \"\"\"Ä configuration.\"\"\"
    config = ml_collections.ConfigDict()
    config.a = a = ml_collections.ConfigDict()
    a.b = "ö"; a.c = 1_000
    a.d = config.e = True
    a.f = None
    a.g = a.c * 2
    {}
    return config
"""


def test_python_that_fills_a_configuration() -> None:
    text = placed(PYTHON.format("pass"), "c.py")
    config = read_config(text, "c.py")
    values = {name: setting.value for name, setting in config.values.items() if isinstance(setting, Set)}
    assert values == {"a.b": "ö", "a.c": "1000", "a.d": "true", "e": "true"}
    assert isinstance(config.get("a.f"), Absent)
    assert isinstance(config.get("a.g"), Unknown)
    assert not config.open_because
    found = config.get("a.c")
    assert isinstance(found, Set)
    assert found.origin is not None
    span = found.origin.place.span
    assert text.text[span.start : span.end] == "1_000"


@pytest.mark.parametrize(
    "more",
    [
        "if a.c:\n        a.h = 1",
        "a.update(other)",
        "config = other()",
        "config.a.k, x = 1, 2",
        "x[0] = config",
        "a.b[",
    ],
)
def test_python_that_does_more_is_not_seen_whole(more: str) -> None:
    config = read_config(placed(PYTHON.format(more), "c.py"), "c.py")
    assert config.open_because == "c.py works values out"


def test_other_python_is_not_read() -> None:
    assert read_config(placed("lr = 1\n", "c.py"), "c.py").open_because == "c.py is not read"
