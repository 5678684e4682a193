"""Environment variables and `$(VAR)` references as the kubelet makes them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from job_samples import ABSENT, UNKNOWN, main, plain, workload

from kube_gaplint.kinds.variables import expand, script_text
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.workload import Container
from kube_gaplint.text.source import Place, Source, Span, WholeText

HERE = Origin(Place(Source("a", "a"), Span(0, 1)))
VALUES: dict[str, Setting[str]] = {"A": Set("1", HERE), "LONG": Set("x" * 9, HERE), "U": Unknown("why")}


def lookup(name: str) -> Setting[str]:
    return VALUES.get(name, Absent(HERE))


def joined(text: str) -> str:
    return "".join("?" if isinstance(piece.value, Unknown) else piece.value for piece in expand(text, lookup))


# third_party/forked/golang/expansion/expand_test.go has the same cases
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("a$(A)b$(A)", "a1b1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$$$$(A)", "$$(A)"),
        ("$(NONE)", "$(NONE)"),
        ("$(date +%s)", "$(date +%s)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$(", "$("),
        ("echo $$", "echo $"),
        ("x$(U)y", "x?y"),
        ("", ""),
    ],
)
def test_expand(text: str, expected: str) -> None:
    assert joined(text) == expected


@given(st.text(alphabet="$()AUx \n", max_size=60))
def test_expansion_keeps_places_within_the_text(text: str) -> None:
    base = WholeText(Source("s", text))
    placed = script_text(base, expand(text, lookup))
    for start in range(len(placed.text) + 1):
        for end in range(start, len(placed.text) + 1):
            span = placed.place(start, end).span
            assert 0 <= span.start <= span.end <= len(text)


def test_characters_behind_a_reference_point_at_their_own_place() -> None:
    text = "run $(LONG) --flag"
    placed = script_text(WholeText(Source("s", text)), expand(text, lookup))
    at = placed.text.index("--flag")
    assert placed.place(at, at + 6).text == "--flag"
    assert placed.place(4, 13).text == "$(LONG)"


def test_an_unknown_reference_becomes_a_shell_variable_in_a_script() -> None:
    text = "torchrun --nnodes=$(U) x"
    assert script_text(WholeText(Source("s", text)), expand(text, lookup)).text == "torchrun --nnodes=${U} x"


def container(env: str = "", env_from: str = "", command: str = "[python, t.py]", more: str = "") -> Container:
    return main(
        workload(
            f"""
apiVersion: v1
kind: Pod
metadata:
  name: p
  annotations: {{team: blue}}
spec:
  containers:
  - name: c
    image: i
    command: {command}
    env: [{env}]
    envFrom: [{env_from}]
    resources: {{limits: {{nvidia.com/gpu: 1}}}}
{more}
"""
        )
    )


MAP = """
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {NCCL_DEBUG: INFO, A: from-map, TEMPLATED: "${X}"}
"""
SECRET = """
---
apiVersion: v1
kind: Secret
metadata: {name: tokens}
data: {HF_TOKEN: eA==}
stringData: {WANDB: y}
"""


def environment(**parts: str) -> Environment:
    return container(**parts).environment


def test_env_wins_over_env_from_and_the_last_of_a_name_wins() -> None:
    found = environment(
        env="{name: A, value: own}, {name: B, value: one}, {name: B, value: two}",
        env_from="{configMapRef: {name: settings}}",
        more=MAP,
    )
    assert [plain(found.get(name)) for name in ("A", "B", "NCCL_DEBUG", "TEMPLATED", "NONE")] == [
        "own", "two", "INFO", UNKNOWN, ABSENT,
    ]  # fmt: skip


def test_a_value_from_a_config_map_points_into_it() -> None:
    found = environment(env_from="{prefix: X_, configMapRef: {name: settings}}", more=MAP).get("X_NCCL_DEBUG")
    assert isinstance(found, Set)
    assert found.origin.place.text == "INFO"
    assert [link.note for link in found.origin.chain] == ["envFrom ConfigMap settings"]


@pytest.mark.parametrize(
    ("source", "more", "open_environment"),
    [
        ("{configMapRef: {name: settings}}", MAP, False),
        ("{configMapRef: {name: settings}}", "", True),
        ("{configMapRef: {name: settings, optional: true}}", "", True),
        ("{configMapRef: {name: '${NAME}'}}", MAP, True),
        ("{secretRef: {name: tokens}}", "", True),
        ("{secretRef: {name: tokens}}", SECRET, False),
        ("'${ENV_FROM}'", "", True),
    ],
)
def test_an_unresolved_source_opens_the_environment(source: str, more: str, open_environment: bool) -> None:
    found = environment(env_from=source, more=more)
    assert bool(found.open_because) is open_environment
    assert plain(found.get("NCCL_IB_TIMEOUT")) == (UNKNOWN if open_environment else ABSENT)


def test_variables_of_a_secret_are_there_and_unknown() -> None:
    found = environment(env_from="{secretRef: {name: tokens}}", more=SECRET)
    assert "HF_TOKEN" in found
    assert "WANDB" in found
    assert plain(found.get("WANDB")) == UNKNOWN


@pytest.mark.parametrize(
    ("item", "expected", "given"),
    [
        ("{name: V, value: ''}", "", True),
        ("{name: V}", "", True),
        ("{name: V, value: 5}", "5", True),
        ("{name: V, valueFrom: {fieldRef: {fieldPath: metadata.name}}}", UNKNOWN, True),
        ("{name: V, valueFrom: {fieldRef: {fieldPath: \"metadata.annotations['team']\"}}}", "blue", True),
        ("{name: V, valueFrom: {resourceFieldRef: {resource: limits.memory}}}", UNKNOWN, True),
        ("{name: V, valueFrom: {secretKeyRef: {name: s, key: k}}}", UNKNOWN, True),
        ("{name: V, valueFrom: {configMapKeyRef: {name: settings, key: NCCL_DEBUG}}}", "INFO", True),
        ("{name: V, valueFrom: {configMapKeyRef: {name: settings, key: NONE, optional: true}}}", ABSENT, False),
        ("{name: V, valueFrom: {configMapKeyRef: {name: settings, key: NONE}}}", UNKNOWN, True),
        ("{name: V, valueFrom: {configMapKeyRef: {name: elsewhere, key: k}}}", UNKNOWN, True),
        ("{name: V, value: '{{ .Values.x }}'}", UNKNOWN, True),
        ("{name: W, value: w}, {name: V, value: $(W)/$(W)}", "w/w", True),
        ("{name: V, value: $(W)}, {name: W, value: w}", UNKNOWN, True),  # only what stands before counts
        ("{name: V, value: $$(W)}", UNKNOWN, True),  # an escaped reference is taken for a placeholder
    ],
)
def test_value_of_a_variable(item: str, expected: str, given: bool) -> None:
    found = environment(env=item, more=MAP)
    assert plain(found.get("V")) == expected
    assert ("V" in found) is given


def test_what_is_known_of_the_beginning_of_a_value_is_kept() -> None:
    found = environment(
        env="{name: RUN, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}, {name: V, value: /ckpt/$(RUN)/a}"
    )
    value = found.get("V")
    assert isinstance(value, Unknown)
    assert value.prefix == "/ckpt/"


def test_references_in_command_and_args_are_expanded() -> None:
    found = container(
        env="{name: N, value: '4'}, {name: M, valueFrom: {fieldRef: {fieldPath: metadata.name}}}",
        command="[torchrun, '--nnodes=$(N)', '--name=$(M)', '--x=$(NONE)', '--y=${PLACEHOLDER}']",
    )
    assert [word.shown for word in found.commands[0].words] == [
        "torchrun",
        "--nnodes=4",
        "--name=…",
        "--x=$(NONE)",
        "--y=…",
    ]


def test_the_shell_of_a_script_sees_its_own_substitutions() -> None:
    found = container(
        env="{name: N, value: '4'}",
        command="[bash, -c, 'host=$(hostname); torchrun --nnodes=$(N) --node-rank ${RANK} t.py']",
    )
    assert "--nnodes=4" in [word.shown for word in found.commands[-1].words]


def test_chains_of_references_do_not_blow_up() -> None:
    items = ["{name: V0, value: '0123456789'}"]
    items += [f"{{name: V{n}, value: '{'$(V' + str(n - 1) + ')'}{'$(V' + str(n - 1) + ')'}'}}" for n in range(1, 60)]
    found = environment(env=", ".join(items))
    assert plain(found.get("V3")) == "0123456789" * 8
    assert plain(found.get("V59")) == UNKNOWN
