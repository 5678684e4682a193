from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from launch_words import words

from kube_gaplint.launch.options import MANY, OptionSpec, make_spec, parse_launcher, parse_options
from kube_gaplint.model.setting import Absent, Origin, Set, Unknown
from kube_gaplint.model.training import Options
from kube_gaplint.text.source import Place, Source, Span

HOME = Origin(Place(Source("home", ""), Span(0, 0)))


def parse(text: str, spec: OptionSpec | None = None) -> Options:
    return parse_options(words(text), HOME, spec or OptionSpec())


def shown(options: Options) -> list[tuple[str, str | None]]:
    return [(o.name, o.value.value if isinstance(o.value, Set) else None) for o in options.occurrences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("--save /ckpt", [("save", "/ckpt")]),
        ("--save=/ckpt", [("save", "/ckpt")]),
        ("--save-interval=a=b", [("save-interval", "a=b")]),
        ("--fp16 --save /ckpt", [("fp16", ""), ("save", "/ckpt")]),
        ("--limit -1 --eps -1e-8", [("limit", "-1"), ("eps", "-1e-8")]),
        ("-save /ckpt -fp16", [("save", "/ckpt"), ("fp16", "")]),
        ("--save ''", [("save", "")]),
        (
            "trainer.max_steps=10 +exp.name=a ++exp.dir=/b",
            [("trainer.max_steps", "10"), ("exp.name", "a"), ("exp.dir", "/b")],
        ),
        ("--a 1 --a 2", [("a", "1"), ("a", "2")]),
        ("--save $DIR", [("save", None)]),
        ("--save $DIR/x --load /y", [("save", None), ("load", "/y")]),
    ],
)
def test_reads_options(text: str, expected: list[tuple[str, str | None]]) -> None:
    assert shown(parse(text)) == [
        (Options.normal(name), value) if "." not in name else (name, value) for name, value in expected
    ]


def test_last_occurrence_wins_under_any_spelling() -> None:
    options = parse("--save_interval 100 --save-interval 200")
    assert options.get("save_interval") == options.get("--save-interval")
    found = options.get("save-interval")
    assert isinstance(found, Set) and found.value == "200"


def test_missing_option_is_absent_in_a_closed_list_and_unknown_in_an_open_one() -> None:
    assert isinstance(parse("--lr 1").get("save"), Absent)
    assert isinstance(parse("--lr 1 $EXTRA").get("save"), Absent | Unknown)
    assert isinstance(parse("--bf16 $EXTRA --lr 1").get("save"), Unknown)
    assert isinstance(parse("train.yaml $EXTRA").get("save"), Unknown)
    assert isinstance(parse('"$ONE"').get("save"), Unknown)


def test_a_value_of_unknown_content_opens_nothing_where_the_option_is_known_to_take_one() -> None:
    spec = OptionSpec(valued={"save": 1})
    options = parse("--save $DIR", spec)
    assert isinstance(options.get("save"), Unknown)
    assert isinstance(options.get("load"), Absent)
    assert not options.open_because


def test_an_unknown_after_an_option_of_unknown_arity_opens_the_list() -> None:
    assert parse("--bf16 $DATA_ARGS").open_because
    assert not parse("--out $DIR/x").open_because


def test_unknown_values_keep_their_known_beginning() -> None:
    value = parse("--save /ckpt/$RUN").get("save")
    assert isinstance(value, Unknown)
    assert value.prefix == "/ckpt/"


def test_an_unknown_option_name_opens_the_list() -> None:
    assert parse("--$NAME=3").open_because
    assert parse("--save$X").open_because


def test_double_dash_ends_the_options() -> None:
    options = parse("--a 1 -- --b 2")
    assert options.has("b") is False
    assert [word.known for word in options.positionals] == ["--b", "2"]


def test_arities_of_a_spec() -> None:
    spec = OptionSpec(flags=frozenset({"fp16"}), valued={"pair": 2, "many": MANY, "one": 1})
    options = parse("--fp16 config.yaml --pair a b --many x y z --one --odd", spec)
    assert shown(options) == [("fp16", ""), ("pair", "a b"), ("many", "x y z"), ("one", "--odd")]
    assert [word.known for word in options.positionals] == ["config.yaml"]


SRUN = make_spec(
    "label exclusive-flag", "nodes wait ntasks", optional="kill-on-bad-exit no-kill",
    short={"K": "kill-on-bad-exit", "N": "nodes", "W": "wait", "l": "label", "n": "ntasks", "k": "no-kill"},
    abbreviations=True,
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-N4 -n 8 hostname -l", [("nodes", "4"), ("ntasks", "8")]),
        ("-K1 -W60 x", [("kill-on-bad-exit", "1"), ("wait", "60")]),
        ("-K -W 60 x", [("kill-on-bad-exit", ""), ("wait", "60")]),
        ("-K0 -W 0 -l x", [("kill-on-bad-exit", "0"), ("wait", "0"), ("label", "")]),
        ("-lK1 x", [("label", ""), ("kill-on-bad-exit", "1")]),
        ("-lN 4 x", [("label", ""), ("nodes", "4")]),
        ("--kill-on-bad-exit=0 x", [("kill-on-bad-exit", "0")]),
        ("--kill-on-bad-exit x", [("kill-on-bad-exit", "")]),
        ("--kill-on=1 --wai=3 x", [("kill-on-bad-exit", "1"), ("wait", "3")]),
        ("-N$NODES x", [("nodes", None)]),
        ("-N $NODES x", [("nodes", None)]),
    ],
)
def test_getopt_options(text: str, expected: list[tuple[str, str | None]]) -> None:
    parsed = parse_launcher(words(text), HOME, SRUN)
    assert shown(parsed.options) == expected
    assert parsed.rest[0].known in {"x", "hostname"}


@pytest.mark.parametrize(
    ("text", "rest", "is_open"),
    [
        ("--nodes 2 train.py --lr 1", ["train.py", "--lr", "1"], False),
        ("$ARGS train.py --lr 1", ["train.py", "--lr", "1"], True),
        ("--label $ARGS -N 2 train.py", ["train.py"], True),
        ("$SCRIPT --lr 1", [None, "--lr", "1"], True),
        ("$ARGS $SCRIPT", [None, None], True),
        ('"$SCRIPT" --lr 1', [None, "--lr", "1"], True),
        ("$HOME/train.py", [None], False),
        ("-- train.py", ["train.py"], False),
        ("--new-flag train.py a", ["train.py", "a"], False),
        ("--new-option 3 train.py a", ["train.py", "a"], False),
        ("", [], False),
    ],
)
def test_finds_the_program(text: str, rest: list[str | None], is_open: bool) -> None:
    parsed = parse_launcher(words(text), HOME, SRUN)
    assert [word.known for word in parsed.rest] == rest
    assert bool(parsed.options.open_because) is is_open


def test_single_dash_names() -> None:
    spec = make_spec("allow-run-as-root", "np x", single_dash=True)
    parsed = parse_launcher(words("-np 8 -allow-run-as-root --np=3 -x A=1 python t.py"), HOME, spec)
    assert shown(parsed.options) == [("np", "8"), ("allow-run-as-root", ""), ("np", "3"), ("x", "A=1")]
    assert [word.known for word in parsed.rest] == ["python", "t.py"]


_WORD = st.text(alphabet="-=+.$ab1K\"' ", max_size=12)


@given(st.lists(_WORD, max_size=12))
def test_any_words_are_read(texts: list[str]) -> None:
    line = " ".join(texts)
    for spec in (OptionSpec(), SRUN):
        given_words = words(line)
        options = parse_options(given_words, HOME, spec)
        parsed = parse_launcher(given_words, HOME, spec)
        assert len(parsed.rest) <= len(given_words)
        for occurrence in (*options.occurrences, *parsed.options.occurrences):
            assert occurrence.word in given_words


@given(
    st.dictionaries(
        st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True), st.from_regex(r"[a-z0-9/.]{1,8}", fullmatch=True)
    )
)
def test_printed_options_come_back(values: dict[str, str]) -> None:
    for joiner in ("=", " "):
        options = parse(" ".join(f"--{name}{joiner}{value}" for name, value in values.items()))
        assert {
            Options.normal(o.name): o.value.value for o in options.occurrences if isinstance(o.value, Set)
        } == values
        assert not options.open_because


def test_many_unknown_words_are_read_in_linear_time() -> None:
    parsed = parse_launcher(words("$A " * 20_000 + "train.py"), HOME, SRUN)
    assert [word.known for word in parsed.rest] == ["train.py"]
