"""Patterns mean what they mean to pathspec, and take no time to speak of."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from kube_gaplint import git_patterns

SEGMENTS = st.one_of(
    st.just("**"),
    st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "\\*", ".", "("]), min_size=1, max_size=7).map(
        "".join
    ),
)
PATTERNS = st.builds(
    lambda negated, anchored, segments, folder: negated + anchored + "/".join(segments) + folder,
    st.sampled_from(["", "", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENTS, min_size=1, max_size=6),
    st.sampled_from(["", "", "/"]),
)
PATHS = st.lists(st.text("ab(.*", min_size=1, max_size=6), min_size=1, max_size=7).map("/".join)


def usable(pattern: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return False
    return True


@given(st.lists(PATTERNS.filter(usable), min_size=1, max_size=3), st.lists(PATHS, max_size=6), st.booleans())
@settings(max_examples=300)
def test_the_answers_are_those_of_pathspec(patterns: list[str], paths: list[str], folder: bool) -> None:
    mine, theirs = git_patterns.spec(patterns), GitIgnoreSpec.from_lines(patterns)
    for path in [path + "/" * folder for path in paths]:
        assert mine.check_file(path) == theirs.check_file(path)


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 100 + "b", "a" * 250),
        ("?*" * 100 + "b", "a" * 250),
        ("[a/]*[!/b]*" * 50 + "c", "a" * 250),
        ("[ab]*[ab]*" * 50 + "c", "a" * 250),
        ("**/a/" * 50 + "b", "a/" * 500 + "a"),
        ("**/*a*a*a/" * 20 + "b", "aaaaaaaa/" * 200 + "a"),
        ("a/**/" * 50 + "b", "a/" * 500 + "a"),
        ("*/" * 200 + "b", "a/" * 500 + "a"),
        ("*a*/" * 100 + "b", "aaaaaa/" * 500 + "a"),
    ],
)
def test_a_pattern_that_could_be_split_in_many_ways(pattern: str, path: str) -> None:
    assert not git_patterns.spec([pattern]).match_file(path)


def test_what_cannot_be_used() -> None:
    assert git_patterns.wrong_because("a" * 1_001) == "it has more than 1,000 characters"
    assert git_patterns.wrong_because("!") == "git does not understand it"
    assert git_patterns.wrong_because("*.yaml") == ""
    assert git_patterns.usable(["a", "!", "b" * 2_000, "c"]) == (["a", "c"], 1)
    kept, left = git_patterns.usable(["a"] * (git_patterns.MOST + 3))
    assert (len(kept), left) == (git_patterns.MOST, 3)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("build/", "src/build", True),
        ("build/", "src/builder", False),
        ("*.py[cod]", "a/b.pyc", True),
        ("*.py[cod]", "a/b.py", False),
        ("[Bb]in", "bin", True),
        ("[Bb]in", "din", False),
        ("data*", "x/data-1", True),
        ("*cache*", "x/my-caches", True),
        ("/build", "build", True),
        ("/build", "src/build", False),
        ("docs/_build", "docs/_build", True),
        ("docs/_build", "docs/build", False),
        ("docs/*/out", "docs/a/out", True),
        ("docs/**/out", "docs/a/b/out", True),
        ("docs/**/out", "docs/a/b/in", False),
        ("**/logs", "a/logs", True),
        ("*/logs", "a/logs", True),
        ("*/logs", "logs", False),
        ("!keep", "keep", True),
        ("#keep", "keep", False),
    ],
)
def test_the_sieve_lets_through_what_may_match(pattern: str, path: str, expected: bool) -> None:
    sieve = git_patterns.Sieve([pattern])
    name = path.rpartition("/")[2]
    assert sieve.lets_through(path, name) is expected
    assert sieve.left == (["#keep"] if pattern == "#keep" else [])


@pytest.mark.parametrize("pattern", ["a[!b]", "a\\ ", "a[0-9]", "a[b", "a//b", "/", "[abcdefgh][abcdefgh]"])
def test_patterns_that_are_left_to_pathspec(pattern: str) -> None:
    assert git_patterns.Sieve([pattern]).left == [pattern]
