"""Words: quoting, expansion, splitting, and the places that they point at."""

from __future__ import annotations

import pytest
from shell_reading import UNKNOWN, environment_of, places_of, programs, run_of, script_of, whole, words_of

from kube_gaplint.launch.shell import read_script
from kube_gaplint.model.setting import Unknown

EXPANSIONS = {
    # quoting
    "run a 'b c' \"d e\" f\\ g": ["a", "b c", "d e", "f g"],
    "run $'a\\tb\\x41\\'' \"a\\\"b\\$c\\q\"": ["a\tbA'", 'a"b$c\\q'],
    "run '' \"\" a''b": ["", "", "ab"],
    "run a\\\nb \\\n  c": ["ab", "c"],
    "run 'a\nb'": ["a\nb"],
    "run --x={\"a\":1} [1,2] a=b x+=1 +k=v ~k @f": ["--x={a:1}", "[1,2]", "a=b", "x+=1", "+k=v", "~k", "@f"],
    "run a#b # c": ["a#b"],
    # variables
    "X=1; run $X ${X} \"$X\" '$X' \\$X a${X}b": ["1", "1", "1", "$X", "$X", "a1b"],
    "X=' a  b '; run $X \"$X\" x$X": ["a", "b", " a  b ", "x", "a", "b"],
    "X=; run $X \"$X\" a$X": ["", "a"],
    "X=a Y=$X; run $Y": ["a"],
    "X=a; X=$X$X; X+=b; run $X": ["aab"],
    "export X=a Y='b c'; run $X \"$Y\"": ["a", "b c"],
    "declare -x X=a; readonly Y=b; typeset Z=c; run $X $Y $Z": ["a", "b", "c"],
    "X=$UNKNOWN; run $X a$X": [UNKNOWN, "a" + UNKNOWN],
    # operators
    "run ${X:-a} ${X-b} \"${X:-c d}\" ${X:-c d}": ["a", "b", "c d", "c", "d"],
    "X=; run ${X:-a} \"${X-b}\" ${X:+c}": ["a", ""],
    "X=1; run ${X:-a} ${X:+b} ${X+c} ${Y:+d}": ["1", "b", "c"],
    "run ${X:=a} $X": ["a", "a"],
    "run ${X:-${Y:-a}} ${X:-$((1+1))}": ["a", "2"],
    "run \"${X:-\"a b\"}\"": ["a b"],
    "X=a/b.c.d; run ${X##*/} ${X#*/} ${X%.*} ${X%%.*} ${X/b/z} ${X//[ab]/z}": [
        "b.c.d", "b.c.d", "a/b.c", "a/b", "a/z.c.d", UNKNOWN,
    ],
    "X=abcdef; run ${X:2} ${X:1:2} ${X: -2} ${#X} ${X^^} ${X:1:-1}": ["cdef", "bc", "ef", "6", "ABCDEF", "bcde"],
    "X=Y Y=a; run ${!X}": ["a"],
    "run ${X@Q} ${!X*}": [UNKNOWN, UNKNOWN],
    # arithmetic
    "X=3; run $((X * 2 + 1)) $(( $X << 2 )) $[X-1] $((16#ff)) $((010)) $((-7 / 2)) $((X > 2 ? 5 : 6))": [
        "7", "12", "2", "255", "8", "-3", "5",
    ],
    "run $((X + 1)) $((1 / 0)) $((2 ** 70))": [UNKNOWN] * 3,
    "((X = 4 * 2)); run $X; ((X++))": ["8"],
    "X=1; ((X++)); run $X": [UNKNOWN],
    # arrays
    "A=(a 'b c' # d\n e); run ${A[@]} \"${A[@]}\" \"${A[*]}\" ${A[1]} $A ${#A[@]}": [
        "a", "b", "c", "e", "a", "b c", "e", "a b c e", "b", "c", "a", "3",
    ],
    "A=(a); A+=(b \"c d\"); run \"x${A[@]}y\"": ["xa", "b", "c dy"],
    "A=(); run \"${A[@]}\" a": ["a"],
    "A=($UNKNOWN b); run \"${A[@]}\" ${A[1]}": [UNKNOWN, "b", UNKNOWN],
    "B='x y'; A=($B \"$B\"); run \"${A[@]}\"": ["x", "y", "x y"],
    "A=(a b); A[1]=c; A[2]='d e'; run \"${A[@]}\"; A[9]=f": ["a", "c", "d e"],
    "A=(a b); A[$X]=c; run \"${A[@]}\"": [UNKNOWN],
    "X=a/b-c; run ${X//\\//_} ${X/-} ${X//b-/x/y} ${X//[ab]/z}": ["a_b-c", "a/bc", "a/x/yc", UNKNOWN],
    "declare -A M=([a]=b); run ${M[a]}": [UNKNOWN],
    # braces and globs
    "run a{b,c}d {1..3} {a} *.txt": ["abd", "acd", "1", "2", "3", "{a}", "*.txt"],
    "run {a,b}{1..2}c \"{a,b}\" {a,b": ["a1c", "a2c", "b1c", "b2c", "{a,b}", "{a,b"],
    "X=d; run `echo \\`echo bt\\` \\$X`": ["bt", "d"],
    # substitutions
    "run $(echo a b) \"$(echo a b)\" `echo c` $(date) x$(date)": ["a", "b", "a b", "c", UNKNOWN, "x" + UNKNOWN],
    "run $(cat <<EOF\na\nit's (b\nEOF\n)": ["a", "it's", "(b"],
    "cd /a/b; run $(pwd) $PWD $(basename /x/y) $(dirname /x/y)": ["/a/b", "/a/b", "y", "/x"],
    "run $(case $X in a) b;; c) d;; esac) $(echo \"$(echo case a)\" x)": [UNKNOWN, "case", "a", "x"],
    "run $(echo a # b) c\n) $((echo b) | cat) d": ["a", UNKNOWN, "d"],
    "run <(a b) $(a $(b \")\"))": [UNKNOWN, UNKNOWN],
    # arguments
    "set -- a 'b c'; run $1 \"$@\" $# \"${2}\" $3 ${3:-d}": ["a", "a", "b c", "2", "b c", "d"],
    "set -- a b c; shift; run \"$@\"; ": ["b", "c"],
    # templates
    "run --n={{ .Values.n }} \"{{ .x }}y\" {{ .z }}": ["--n=" + UNKNOWN, UNKNOWN + "y", UNKNOWN],
    "run ~/a ~b a~": [UNKNOWN + "/a", "~b", "a~"],
}  # fmt: skip


@pytest.mark.parametrize("text", EXPANSIONS)
def test_words(text: str) -> None:
    assert words_of(text) == EXPANSIONS[text]


PLACES = {
    # an option points at the text that wrote it, however often it was handed on
    'ARGS="--save-interval 300 --save $D/x"; D=/ckpt; run $ARGS': ["--save-interval", "300", "--save", "$D/x"],
    'N=300; ARGS="--every $N"; run $ARGS': ["--every", "300"],
    'A="--a 1"; B="$A --b"; C="$B \\\n --c"; run $C': ["--a", "1", "--b", "--c"],
    "A=(--a 'b c'); A+=(--d=$X); run \"${A[@]}\"": ["--a", "b c", "--d=$X"],
    'N=3; run --x=$N "$N" $N': ["--x=$N", "3", "3"],
    'P=/ckpt; A="--save=$P/run"; run $A': ["--save=$P/run"],
    'A="--a \\"b\\"" ; run $A': ["--a", '\\"b\\"'],
    'bash -c "run --a $X"; X=1': ["--a", "$X"],
    "bash -c 'run --a 1'": ["--a", "1"],
    'A="--a 1"; bash -c "exec run $A --b"': ["--a", "1", "--b"],
    "C='run --a 1'; eval $C --b": ["--a", "1", "--b"],
    "C='run --a 1'; bash -c \"bash -c '$C --b'\"": ["--a", "1", "--b"],
    "f() { run \"$@\" $1; }; f --a --b": ["--a", "--b", "--a"],
    "cat > r.sh <<EOF\nrun --a $((1+1))\nEOF\nbash r.sh": ["--a", "$((1+1))"],
    "export C='run --a  1'; bash -c '$C --b'": ["--a", "1", "--b"],
    "export C=\"run --a $X  1\"; bash -c '$C --b'": ["--a", "$X", "1", "--b"],
    "set -- --a --b; run \"$@\"": ["--a", "--b"],
    "run ${X:---a}": ["--a"],
}  # fmt: skip


@pytest.mark.parametrize("text", PLACES)
def test_places(text: str) -> None:
    assert places_of(run_of(text)) == PLACES[text]


def test_place_of_a_value_from_the_environment() -> None:
    command = run_of("run --save-interval $EVERY", {"A": "x", "EVERY": "500"})
    assert command.words[2].place.source.path == "pod.yaml"
    assert places_of(command) == ["--save-interval", "500"]


@pytest.mark.parametrize(
    ("text", "many"),
    [
        ("run $X", True),
        ('run "$X"', False),
        ("run a$X", False),
        ('run "$@"', True),
        ('run "${A[@]}"', True),
        ("run $(x)", True),
        ('A=(a $X); run "${A[1]}"', False),
    ],
)
def test_what_may_become_several_words(text: str, many: bool) -> None:
    script = read_script(whole(text), environment_of(), arguments=None)
    (command,) = programs(script)
    assert command.words[-1].multiple is many
    assert command.options_open is many


def test_reasons() -> None:
    def reason(text: str, **options: str) -> str:
        word = run_of(text, **options).words[-1]
        return next(piece.reason for piece in word.pieces if isinstance(piece, Unknown))

    assert reason("run $X") == "$X is not set in anything visible"
    assert reason("run $SLURM_NNODES") == "Slurm sets it when the job runs"
    assert reason("run $X", open_because="the submitter's environment") == "the submitter's environment"
    assert reason("run ${X:-5}", open_because="the site") == "the site; without it, it is 5"
    assert reason("run $(hostname -I | cut -f1)") == "it is the output of `hostname -I | cut -f1`"
    assert reason("source a.sh; run $X") == "`source a.sh` may set variables: a.sh is not visible"


def test_default_of_what_something_unseen_may_set() -> None:
    assert words_of("run ${X:-5}") == ["5"]
    assert words_of("run ${X:-5}", open_because="the submitter's environment") == [UNKNOWN]
    assert words_of("run ${SLURM_NNODES:-5} ${RANK:-0}") == [UNKNOWN, UNKNOWN]
    assert words_of("run ${X:-5}", {"X": "7"}, open_because="more") == ["7"]


def test_unset_variable_is_surely_empty() -> None:
    assert words_of("unset X; run a$X ${X:-d}", {"X": "1"}) == ["a", "d"]


def test_lines_are_not_joined() -> None:
    script = script_of("a | b |& c\nd && run x\n")
    assert [[word.known for word in command.words] for command in script.commands] == [
        ["a"],
        ["b"],
        ["c"],
        ["d"],
        ["run", "x"],
    ]
