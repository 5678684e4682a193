"""Control flow: which commands run, how surely, and what the shell knows afterwards."""

from __future__ import annotations

import pytest
from shell_reading import UNKNOWN, argv, places_of, programs, script_of, value

from kube_gaplint.model.command import Command, Script
from kube_gaplint.model.setting import Set, Unknown


def shown(script: Script) -> list[str]:
    """Each `run` command with its certainty: `run a b` or `conditional: run a b`."""
    return [
        " ".join(argv(command)) if command.certainty == "always" else f"{command.certainty}: {' '.join(argv(command))}"
        for command in programs(script)
    ]


FLOWS = {
    # branches
    "if [ -f x ]; then run a; else run b; fi; run c": ["conditional: run a", "conditional: run b", "run c"],
    "if [ -f x ]; then run a; elif y; then run b; fi": ["conditional: run a", "conditional: run b"],
    "x && run a; x || run b; ! run c": ["conditional: run a", "conditional: run b", "run c"],
    "export A=1 && B=2 && run $A $B": ["run 1 2"],
    "cd /x && A=1 && run $A; run $A": ["conditional: run 1", "run " + UNKNOWN],
    "true || run a; false && run b; false || run c": ["run c"],
    "case $X in a) run a;; b|c) run b;; esac": ["conditional: run a", "conditional: run b"],
    "X=b; case $X in a) run a;; b|c) run b;; esac": ["run b"],
    "X=zz; case $X in a) run a;; z*) run b;; *) run c;; esac": ["run b"],
    "X=1; if [ $X = 1 ]; then run a; else run b; fi": ["run a"],
    "X=1; if [[ $X == 2 ]]; then run a; elif [ $X -gt 0 ]; then run b; else run c; fi": ["run b"],
    "if [ -z \"$X\" ]; then run a; fi": ["conditional: run a"],
    "X=; if [ -z \"$X\" ]; then run a; fi; [ -n \"$X\" ] || run b; ((1 > 2)) && run c": ["run a", "run b"],
    "if (( 3 > 2 )); then run a; fi": ["run a"],
    "X=1; if [ $X = 1 ] && [ $X -lt 2 ]; then run a; fi; if [ $X = 2 ] || false; then run b; fi": ["run a"],
    "X=1; if [ $X = 1 ] && y; then run a; fi; if [ $X = 2 ] && y; then run b; fi": ["conditional: run a"],
    "X=1; if y || [ $X = 1 ]; then run a; else run b; fi": ["run a"],
    # what a branch leaves behind
    "if x; then A=1; fi; run $A": ["run " + UNKNOWN],
    "A=1; if x; then A=1; else B=1; fi; run $A $B": [f"run 1 {UNKNOWN}"],
    "if x; then A=1; else A=1; fi; run $A": ["run 1"],
    "A=1; if x; then A=2; exit; fi; run $A": ["run 1"],
    "A='--a 1'; if x; then A=\"$A --b\"; fi; A=\"$A --c\"; run $A": [f"run --a 1 {UNKNOWN} --c"],
    "A='--a 1'; if x; then A+=' --b'; else A+=' --c'; fi; run $A": [f"run --a 1 {UNKNOWN}"],
    "A=(1); if x; then A+=(2); fi; A+=(3); run \"${A[@]}\"": [f"run 1 {UNKNOWN} 3"],
    "A=\"--a 1\"; [ -n \"$X\" ] && A=\"--b $A\"; run $A": [f"run {UNKNOWN} --a 1"],
    "A=1; x && A=2 || A=3; run $A": ["run " + UNKNOWN],
    "[ -z \"$A\" ] && A=5; run $A": ["run " + UNKNOWN],
    # loops
    "for i in 1 2; do run $i; done": ["repeated: run " + UNKNOWN],
    "for i in one; do run $i; done; run $i": ["run one", "run one"],
    "for i in; do run $i; done": [],
    "for i in $X; do run a; done": ["repeated: run a"],
    "A=1; while x; do run $A; A=2; done; run $A": ["repeated: run " + UNKNOWN, "run " + UNKNOWN],
    "A='--a'; for i in 1 2; do A=\"$A --x $i\"; done; run $A": [f"run --a {UNKNOWN} --x {UNKNOWN}"],
    "until run a; do sleep 5; done": ["repeated: run a"],
    "while true; do run a && break; done": ["repeated: run a"],
    "while false; do run a; done; run b": ["run b"],
    "A=1; for i in 1 2; do f; done; f() { A=2; }; run $A": ["run 1"],
    "f() { A=2; }; A=1; for i in 1 2; do f; run $A; done; run $A": ["repeated: run 2", "run 2"],
    "f() { A=$1; }; A=1; for i in 1 2; do run $A; f $i; done": ["repeated: run " + UNKNOWN],
    "for ((i=0;i<3;i++)); do run a; done": ["repeated: run a"],
    "for i in 1 2; do if x; then run a; fi; done": ["conditional: run a"],
    "time { run a; run b; } 2> log; time -p run c": ["run a", "run b", "run c"],
    # functions
    "f() { run \"$1\" $2; }; f a 'b c'; run \"$1\"": ["run a b c", "run "],
    "f() { local A=2; run $A; }; A=1; f; run $A": ["run 2", "run 1"],
    "f() { A=2; }; A=1; f; run $A": ["run 2"],
    "f() { [ -n \"$1\" ] || return; run a; }; f; f b; f $X": ["run a", "run a"],
    "f() { return; run a; }; f; run b": ["run b"],
    "f() { run a; f; }; f": ["run a"],
    "function f { run a; }; x && f": ["conditional: run a"],
    "X=1 f; f() { run $X; }; X=2 f; run a$X": ["run 2", "run a" + UNKNOWN],
    # processes of their own
    "(A=1; run $A); run a$A": ["run 1", "run a" + UNKNOWN],
    "A=1; (exit); run $A": ["run 1"],
    "A=1; x | A=2; { A=3; run $A; } | y; run $A": ["run 3", "run 1"],
    "{ A=3; }; run $A": ["run 3"],
    # the end
    "run a; exit; run b": ["run a"],
    "exec run a; run b": ["run a"],
    "if x; then exec run a; fi; run b": ["conditional: run a", "run b"],
    "exec > log 2>&1; run a": ["run a"],
    "trap 'run z' EXIT; run a": ["run a", "on-exit: run z"],
    "trap 'run z' EXIT; trap - EXIT; run a": ["run a"],
    "trap 'run z' TERM; run a": ["run a"],
    # eval and source
    "C='run a'; eval \"$C b\"": ["run a b"],
    "eval \"A=1\"; run $A": ["run 1"],
    "eval \"$(conda shell.bash hook)\"; run ${A:-1}": ["run 1"],
    "eval \"$X\"; run ${A:-1}": ["run " + UNKNOWN],
    ". venv/bin/activate; source /opt/conda/bin/activate x; run ${A:-1}": ["run 1"],
    # templates
    "{{- if .x }}\nA=1\nrun a\n{{- else }}\nrun b\n{{- end }}\nrun $A": [
        "conditional: run a", "conditional: run b", "run " + UNKNOWN,
    ],
    "{{ if .x }}\n{{ if .y }}\nrun a\n{{ end }}\n{{ end }}\nrun b": ["conditional: run a", "run b"],
    "{{/* note */}}\n{{ .Values.setup }}\nrun ${A:-1}": ["run " + UNKNOWN],
    "{{ if .x }}\nrun a": ["conditional: run a"],
    "{{ end }}\nrun a --b={{ .c }} &\nwait": ["run a --b=" + UNKNOWN],
    # not a command
    "echo run a; # run b\ncat <<EOF\nrun c\nEOF": [],
}  # fmt: skip


@pytest.mark.parametrize("text", FLOWS)
def test_flow(text: str) -> None:
    assert shown(script_of(text)) == FLOWS[text]


LAST = {
    "run a; run b": ["b"],
    "run a\nrun b # c\n# d\n\n": ["b"],
    "run a && run b": ["b"],
    "run a || run b": ["a", "b"],
    "if x; then run a; else run b; fi": ["a", "b"],
    "if x; then exec run a; fi; exec run b": ["a", "b"],
    "if x; then run a; exit 1; fi; run b": ["b"],
    "run a | run b": ["a", "b"],
    "run a & run b": ["b"],
    "run a & wait": [],
    "run a; exit $?": ["a"],
    "run a; exit 0": [],
    "run a; echo done": [],
    "run a; X=1": ["a"],
    "f() { run a; }; f": ["a"],
    "for i in 1 2; do run a; done": ["a"],
    "(exec run a)": ["a"],
    "run a || exit 1": ["a"],
    "bash -c 'run a; run b'": ["b"],
    "bash -c 'run a'; run b": ["b"],
    "trap 'run z' EXIT; run a": ["a"],
}


@pytest.mark.parametrize("text", LAST)
def test_what_may_run_last(text: str) -> None:
    assert [argv(command)[1] for command in programs(script_of(text)) if command.is_last] == LAST[text]


def one(text: str, **options: str) -> Command:
    (command,) = programs(script_of(text, **options))
    return command


def test_pipes_and_their_status() -> None:
    first, second = programs(script_of("run a 2>&1 | run b"))
    assert (first.pipeline.index, second.pipeline.index, first.pipeline.length) == (0, 1, 2)
    assert isinstance(first.pipeline.pipefail, Set)
    assert first.pipeline.pipefail.value is False
    assert first.redirected
    (command,) = programs(script_of("set -eo pipefail; run a | tee log"))
    assert isinstance(command.pipeline.pipefail, Set)
    assert command.pipeline.pipefail.value is True
    assert isinstance(command.errexit, Set)
    assert command.errexit.value is True
    assert command.errexit.origin.place.text == "-eo"
    assert one("run a").pipeline.pipefail is None


@pytest.mark.parametrize(
    ("text", "errexit"),
    [
        ("run a", False),
        ("#!/bin/bash -e\nrun a", True),
        ("set -euxo pipefail\nrun a", True),
        ("set -e; set +e; run a", False),
        ("set -o errexit; run a", True),
        ("if x; then set -e; fi; run a", None),
        ("(set -e); run a", False),
    ],
)
def test_errexit(text: str, errexit: bool | None) -> None:
    setting = one(text).errexit
    assert (setting.value if isinstance(setting, Set) else None) is errexit


@pytest.mark.parametrize(
    ("text", "swallowed"),
    [
        ("run a || true", True),
        ("run a || exit 1", False),
        ("run a || { echo failed; exit 1; }", False),
        ("! run a", True),
        ("run a && echo", False),
        ("if run a; then echo; fi", True),
        ("run a", False),
        ("x || run a", False),
    ],
)
def test_swallowed_failures(text: str, swallowed: bool) -> None:
    assert one(text).fallback is swallowed


def test_background_and_wait() -> None:
    command = one("run a &\nPID=$!\nwait $PID")
    assert command.background
    assert command.waited
    assert not one("run a &\nsleep 5").waited
    assert not one("run a; wait").background


def test_conditions_are_named() -> None:
    assert one('if [ -n "$X" ]; then run a; fi').condition == '[ -n "$X" ]'
    assert one("cd /x && run a").condition == "cd /x"
    assert one("while sleep 1; do run a; done").condition == "sleep 1"
    assert one("for i in 1 2\ndo run a; done").condition == "for i in 1 2"


# --- the environment of what runs ----------------------------------------------------------------------------------


def test_only_exported_variables_reach_a_program() -> None:
    command = one("A=1; export B=2; export C; C=3; D=4 run a; export E=5", variables={"F": "6"})  # type: ignore[arg-type]
    get = command.environment.get
    assert [value(get(name)) for name in "ABCDEF"] == ["-", "2", "3", "4", "-", "6"]


ENVIRONMENTS = {
    "export X=$Y": None,
    "X=1; export X": "1",
    "export X=1; unset X": "-",
    "unset G": "-",
    "G=5": "5",
    "set -a; X=1; set +a": "1",
    "X=1; set -a": "-",
    "declare -x X=1": "1",
    "export -n G": "-",
    "if x; then export X=1; fi": None,
    "if x; then unset G; fi": None,
    "f() { export X=1; }; f": "1",
    "(export X=1)": "-",
    'export "X=$G"': "g",
    "X=(1 2); export X": "-",
    "export X=a Y=b": "a",
    "read X; export X": None,
    "export $Y": None,
    "source /unseen": None,
    "x || export X=1": None,
    "export X=1 || true": "1",
}


@pytest.mark.parametrize("text", ENVIRONMENTS)
def test_environment(text: str) -> None:
    name = "G" if "G" in text and "X" not in text else "X"
    command = one(f"{text}\nrun a", variables={"G": "g"})  # type: ignore[arg-type]
    assert value(command.environment.get(name)) == ENVIRONMENTS[text]


def test_origin_of_an_export() -> None:
    found = one("export A=1 NCCL_DEBUG=INFO\nrun a").environment.get("NCCL_DEBUG")
    assert isinstance(found, Set)
    assert found.origin.place.text == "NCCL_DEBUG=INFO"
    unknown = one("export P=/ckpt/$RUN\nrun a").environment.get("P")
    assert isinstance(unknown, Unknown)
    assert unknown.prefix == "/ckpt/"


def test_unseen_source_opens_the_environment() -> None:
    script = script_of("run a; source $D/env.sh; run b")
    before, after = programs(script)
    assert value(before.environment.get("X")) == "-"
    unknown = after.environment.get("X")
    assert isinstance(unknown, Unknown)
    assert "env.sh" in unknown.reason
    assert [word.shown for word in script.sources] == [UNKNOWN + "/env.sh"]


def test_seen_source_is_read() -> None:
    files = {"/etc/env.sh": "export X=1\nrun s\nif y; then return; fi\nY=2\n"}
    script = script_of(". /etc/env.sh; run a $Y; source /etc/env.sh", files=files)
    assert [" ".join(argv(command)) for command in programs(script)] == ["run s", "run a 2", "run s"]
    assert programs(script)[0].place.source.path == "/etc/env.sh"
    assert programs(script)[0].script is not script
    assert value(programs(script)[1].environment.get("X")) == "1"
    assert not script.sources


# --- scripts that are started --------------------------------------------------------------------------------------


def test_scripts_in_scripts() -> None:
    files = {
        "/s/run.sh": "#!/bin/bash\nset -e\nrun inner $1 $X\n",
        "/s/tool.py": "#!/usr/bin/env python\nrun no\n",
    }
    text = "X=1; export Y=2; cd /s; ./run.sh a; bash run.sh b; sh -c 'run c $Y $X'; ./tool.py; bash unseen.sh; run d"
    script = script_of(text, files=files)
    assert [argv(c)[1:] for c in programs(script)] == [
        ["inner", "a", UNKNOWN],
        ["inner", "b", UNKNOWN],
        ["c", "2", UNKNOWN],
        ["d"],
    ]
    inner = programs(script)[0]
    assert inner.script is not None
    assert inner.script.parent is script
    assert inner.script.form == "file"
    assert inner.script.started_by is not None
    assert [word.shown for word in script.unseen] == ["unseen.sh"]
    assert [c.name for c in programs(script, "tool.py", "bash")] == ["tool.py", "bash"]


def test_nested_commands_take_over_what_holds_outside() -> None:
    (command,) = programs(script_of("if x; then bash -c 'run a' 2>&1 | tee log & fi; wait"))
    assert command.certainty == "conditional"
    assert command.background
    assert command.pipeline.length == 2
    assert command.redirected


def test_a_script_that_starts_itself() -> None:
    script = script_of("bash /a.sh", files={"/a.sh": "run a; bash /a.sh; ./a.sh"})
    assert [argv(command) for command in programs(script)] == [["run", "a"]]


def test_documents() -> None:
    script = script_of(
        "X=1\ncat <<EOF > /tmp/c.json\n{\"a\": $X, \"b\": \"$Y\"}\nEOF\n"
        "cat > d <<-'EOF'\n\t$X\n\tb\n\tEOF\n"
        "python - <<PY\nprint($X)\nPY\n"
        "cat <<EOF | run a\n$X\nEOF\n"
        "tee t.sh <<EOF > /dev/null\nrun t\nEOF\nbash t.sh\n"
        "bash <<< 'run h'\n"
        "bash <<EOF\nrun s \\$Q\nEOF\n"
    )  # fmt: skip
    texts = [(h.command, h.target, h.expanded, h.text.text) for h in script.heredocs]
    assert texts[:5] == [
        ("cat", "/tmp/c.json", True, '{"a": 1, "b": "$Y"}\n'),
        ("cat", "d", False, "$X\nb\n"),
        ("python", "", True, "print(1)\n"),
        ("cat", "", True, "1\n"),
        ("tee", "t.sh", True, "run t\n"),
    ]
    assert [argv(command)[1:] for command in programs(script)] == [["a"], ["t"], ["h"], ["s", UNKNOWN]]
    (python,) = programs(script, "python")
    assert python.stdin is script.heredocs[2]
    assert programs(script)[0].stdin is script.heredocs[3]
    place = script.heredocs[1].text.place(3, 4)
    assert place.text == "b"


def test_document_with_an_unknown_name_is_found_again() -> None:
    script = script_of("C=./ds.$JOB.json\ncat <<EOF > $C\n{}\nEOF\nrun --config $C")
    target = script.heredocs[0].target_word
    assert target is not None
    assert target.pieces == programs(script)[0].words[2].pieces
    assert script.heredocs[0].target == ""


def test_echo_writes_a_file() -> None:
    script = script_of("echo 'run a' > r.sh; echo run b >> r.sh; bash r.sh")
    assert [argv(command)[1] for command in programs(script)] == ["a", "b"]


def test_written_file() -> None:
    command = one("run a > /logs/x.log 2>&1")
    assert command.writes is not None
    assert command.writes.known == "/logs/x.log"
    assert one("run a 2> err").writes is None


def test_directory() -> None:
    def directory(text: str) -> str | None:
        found = one(text).directory
        return found.value if isinstance(found, Set) else UNKNOWN if isinstance(found, Unknown) else None

    assert directory("run a") is None
    assert directory("cd /a/b; cd ../c; run a") == "/a/c"
    assert directory("cd $X; run a") == UNKNOWN
    assert directory("if x; then cd /a; fi; run a") == UNKNOWN
    assert directory("cd /a; (cd /b); run a") == "/a"


def test_substitutions_are_noted_apart() -> None:
    script = script_of("export H=$(scontrol show hostnames $L | head -n1)\nrun a")
    assert [command.name for command in script.inner] == ["scontrol", "head"]
    assert [command.name for command in script.commands] == ["export", "run"]


def test_traps() -> None:
    script = script_of("trap 'kill $P' SIGTERM INT; trap '' 1; trap 'x' 15; run a")
    assert script.traps == [("TERM", "kill $P"), ("INT", "kill $P"), ("HUP", ""), ("TERM", "x")]


def test_wrappers_in_scripts() -> None:
    command = one("exec numactl --membind 0 -l env -u Q A=1 timeout -k 5 1h run a")
    assert command.wrappers == ("exec", "numactl", "env", "timeout")
    assert command.is_exec
    assert argv(command) == ["run", "a"]
    assert value(command.environment.get("A")) == "1"


def test_megatron_style() -> None:
    text = """#!/bin/bash
set -x -e
GPUS=8
NNODES=$SLURM_NNODES
SAVE_INTERVAL=300
OUTPUT_ARGS=" \\
    --log-interval 1 \\
    --save-interval $SAVE_INTERVAL \\
    --save $CKPT \\
    "
export LAUNCHER="python -u -m torch.distributed.run \\
    --nproc_per_node $GPUS \\
    --nnodes $NNODES \\
    "
export CMD=" \\
    `pwd`/pretrain_gpt.py \\
    --micro-batch-size 1 \\
    $OUTPUT_ARGS \\
    --deepspeed \\
    "
echo $CMD
clear; srun --jobid $SLURM_JOBID bash -c "$LAUNCHER --node_rank \\$SLURM_PROCID $CMD" 2>&1 | tee -a $LOG/main.txt
"""
    script = script_of(text, open_because="the submitter's environment")
    (srun,) = programs(script, "srun")
    assert [word.known for word in srun.words[:2]] == ["srun", "--jobid"]
    assert [word.known for word in srun.words[3:5]] == ["bash", "-c"]
    assert srun.redirected
    assert srun.pipeline.length == 2
    from kube_gaplint.launch.start import nested

    started = nested(srun, srun.words[3:])
    assert started is not None
    (command,) = started.commands
    assert argv(command) == [
        "python", "-u", "-m", "torch.distributed.run", "--nproc_per_node", "8", "--nnodes", UNKNOWN, "--node_rank",
        UNKNOWN, UNKNOWN + "/pretrain_gpt.py", "--micro-batch-size", "1", "--log-interval", "1", "--save-interval",
        "300", "--save", UNKNOWN, "--deepspeed",
    ]  # fmt: skip
    at = [word.known for word in command.words].index("--save-interval")
    assert places_of(command)[at - 1 : at + 1] == ["--save-interval", "300"]
    assert command.words[at].place.start.line == 8
    assert command.words[at + 1].place.start.line == 5
    assert command.pipeline.length == 2
