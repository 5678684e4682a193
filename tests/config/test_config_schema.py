"""The published schema, and the messages about what it does not allow."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema.validators import Draft202012Validator

from kube_gaplint.config import ConfigProblem, schema, settings
from kube_gaplint.config.find import ConfigFile
from kube_gaplint.config.parse import parse
from kube_gaplint.config.written import values_of

_SAID = {"$schema", "title", "description", "$ref", "type", "$defs"}


def messages(text: str, name: str = ".gaplint.yaml") -> list[str]:
    with pytest.raises(ConfigProblem) as problem:
        parse(ConfigFile(name, "/", text.encode()))
    return str(problem.value).splitlines()


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(schema.schema())


def test_every_keyword_of_the_schema_is_checked() -> None:
    def keywords(part: Any) -> set[str]:
        if not isinstance(part, dict):
            return set()
        inner = [*part.get("properties", {}).values(), *part.get("$defs", {}).values()]
        inner += [part.get("items"), part.get("additionalProperties")]
        return set(part).union(*map(keywords, inner))

    assert keywords(schema.schema()) <= _SAID | set(schema._CHECKS)


def test_every_profile_key_is_in_the_schema() -> None:
    assert tuple(schema.schema()["properties"]["profile"]["properties"]) == settings.PROFILE_KEYS


_WORDS = st.sampled_from(["NCCL", "error", "warning", "never", "", "karpenter", "2.6.1", "v1.30", "spec.a.*.b", "a..b"])
_LEAVES = _WORDS | st.booleans() | st.integers(-2, 9) | st.floats(-3, 9) | st.none() | st.text("aZ.9-\né", max_size=3)
_KEYS = st.sampled_from(
    ["select", "ignore", "per-file-ignores", "severity", "min-severity", "fail-on", "exclude", "baseline", "kinds",
     "profile", "group", "kind", "pod-templates", "replicas", "x", *settings.PROFILE_KEYS]
)  # fmt: skip
_KIND = st.fixed_dictionaries(
    {},
    optional={"group": _LEAVES, "kind": _LEAVES, "pod-templates": st.lists(_LEAVES, max_size=2), "replicas": _LEAVES},
)
_DATA = st.recursive(
    _LEAVES | _KIND,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_KEYS, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(_KEYS, _DATA, max_size=4))
def test_it_agrees_with_jsonschema(data: dict[str, Any]) -> None:
    allowed = not list(Draft202012Validator(schema.schema()).iter_errors(data))
    value = values_of(ConfigFile(".gaplint.yaml", "/", json.dumps(data).encode()))
    assert (not schema.mistakes(value)) == allowed, schema.mistakes(value)


def test_a_good_one_is_valid_for_both() -> None:
    data = {
        "select": ["NCCL"],
        "per-file-ignores": {"tests/**": ["CKPT003"]},
        "severity": {"NCCL001": "error"},
        "kinds": [{"group": "a.b", "kind": "C", "pod-templates": ["spec.workers.*.template"]}],
        "profile": {"torch": "2.6.0", "autoscaler": "karpenter", "gpus_per_node": 8, "step_seconds": 1.5},
    }
    jsonschema.validate(data, schema.schema())
    assert schema.mistakes(values_of(ConfigFile("x.yaml", "/", json.dumps(data).encode()))) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sevrity: {}", "1: the configuration has no key 'sevrity'; did you mean severity or min-severity?"),
        ("select: NCCL,CKPT", "1: select must be a list: [NCCL, CKPT]"),
        ("fail-on: warn", "1: fail-on is 'warn', not one of error, warning, info, never; did you mean warning?"),
        ("a: 1\nselect: 3", "2: select must be a list, not 3"),
        ("- a", "1: the configuration must be a mapping, not a list"),
        ("profile:\n  torch: new", "2: torch is 'new'; it is: A release as it is written, such as 2.6.0"),
        ("profile:\n  gpus-per-node: 8", "2: profile has no key 'gpus-per-node'; did you mean gpus_per_node?"),
        ("profile:\n  gpus_per_node: 0", "2: gpus_per_node is 0; it is at least 1"),
        ("profile:\n  step_seconds: 0.0", "2: step_seconds is 0.0; it is more than 0"),
        ("profile:\n  step_seconds: .inf", "2: step_seconds must be a number, not .inf"),
        ("profile:\n  rdma: 'on'", "2: rdma must be true or false, not 'on'"),
        ("kinds: [{kind: A, group: b}]", "1: an element of kinds lacks the key pod-templates"),
        ("exclude: ['']", "1: an element of exclude is empty"),
        ("ignore: [NCLL]", "1: there is no rule or family 'NCLL'; did you mean NCCL"),
        ("severity: {ckpt3: info}", "1: there is no rule or family 'ckpt3'; did you mean CKPT"),
        ("per-file-ignores:\n  a/: [XX9]", "2: there is no rule or family 'XX9'"),
        ("exclude:\n- a\n- '!'", "3: '!' is no pattern as in .gitignore"),
        ("a: [", "1: "),
        ("fail-on: info\nfail-on: error", "2: "),
        ("fail-on: info\n---\nfail-on: error", "3: a configuration is one document; here begins a second"),
    ],
)
def test_mistakes_have_a_line(text: str, expected: str) -> None:
    assert any(line.startswith(f".gaplint.yaml:{expected}") for line in messages(text)), messages(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[tool.gaplint]\nselect = 'NCCL'", "2: select must be a list: [NCCL]"),
        ("[tool.gaplint]\n'fail on' = 3", "2: the configuration has no key 'fail on'; did you mean fail-on?"),
        ("[tool.gaplint]\nignore = [\n  'XX9',\n]", "2: there is no rule or family 'XX9'"),
        ("[tool.gaplint.profile]\nrdma = 1", "2: rdma must be true or false, not 1"),
        ("[tool]\ngaplint.profile.nccl = 2024-01-01\n", "2: nccl is '2024-01-01'"),
        ("[tool.gaplint]\nprofile = { rdma = 1 }", "2: rdma must be true or false, not 1"),
        ("[[tool.gaplint.kinds]]\nkind = ''", "1: an element of kinds lacks the key group"),
        ("[tool.gaplint]\nselect = [", "2: "),
    ],
)
def test_mistakes_in_toml_have_a_line(text: str, expected: str) -> None:
    lines = messages(text, "pyproject.toml")
    assert any(line.startswith(f"pyproject.toml:{expected}") for line in lines), lines


def test_all_mistakes_are_told_at_once() -> None:
    assert len(messages("a: 1\nb: 2\nprofile: {rdma: 3}")) == 3
    assert len(messages("".join(f"k{number}: 1\n" for number in range(99)))) == 20


@given(st.text(max_size=80))
def test_any_text_is_answered(text: str) -> None:
    for name in (".gaplint.yaml", "pyproject.toml"):
        try:
            parse(ConfigFile(name, "/", text.encode("utf-8", "surrogatepass")))
        except ConfigProblem:
            continue


def test_deep_nesting_is_answered() -> None:
    assert messages("[" * 5000)
    assert messages("a: " + "[" * 50 + "]" * 50)
    assert messages("[tool.gaplint]\na = " + "[" * 5000, "pyproject.toml")
    assert messages("[tool.gaplint]\na = " + "[" * 50 + "]" * 50, "pyproject.toml")


def test_aliases_that_multiply_are_answered() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    assert "expand to more than" in messages("\n".join(lines))[0]
