"""Whether a failure of a command reaches the end of its script."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.shell import read_script
from kube_gaplint.launch.shell_status import end_status, lost_status
from kube_gaplint.model.command import Command, LostStatus
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.setting import Origin
from kube_gaplint.text.source import Source, WholeText


def command_in(text: str, name: str = "torchrun", **files: str) -> Command:
    source = Source("run.sh", text)
    whole = WholeText(source)
    texts = {f"/{key}.sh": WholeText(Source(f"{key}.sh", value)) for key, value in files.items()}
    script = read_script(whole, Environment(Origin(whole.place(0, 0))), files=texts.get)
    return next(command for command in script.commands if command.name == name)


def lost(text: str, name: str = "torchrun", **files: str) -> LostStatus | None:
    return lost_status(command_in(text, name, **files))


def way(text: str, name: str = "torchrun", **files: str) -> str:
    found = lost(text, name, **files)
    return "" if found is None else found.way


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # pipelines
        ("torchrun t.py | tee log", "pipe"),
        ("torchrun t.py 2>&1 | tee log\necho done", "pipe"),
        ("set -e\ntorchrun t.py |& tee log\necho done", "pipe"),
        ("{ torchrun t.py; } 2>&1 | tee log", "pipe"),
        ("( torchrun t.py ) | tee log", "pipe"),
        ("torchrun t.py | tee log\npython upload.py", "pipe"),
        ("set -o pipefail\ntorchrun t.py | tee log", ""),
        ("set -euxo pipefail\ntorchrun t.py | tee log\necho done", ""),
        ("set -o pipefail\ntorchrun t.py | tee log\necho done", "later"),
        ("set $FLAGS\ntorchrun t.py | tee log", "pipe"),
        ("torchrun t.py | tee log\nexit ${PIPESTATUS[0]}", ""),
        ("torchrun t.py | tee log\nrc=${PIPESTATUS[0]}\necho $rc\nexit $rc", ""),
        ("torchrun t.py | tee log\nrc=${PIPESTATUS[0]}\necho $rc", "pipe"),
        ("torchrun t.py | tee log; test ${PIPESTATUS[0]} -eq 0", ""),
        ("torchrun t.py | tee log\nexit $?", "pipe"),
        ("torchrun t.py | tee log\nrc=$?\nexit $rc", "pipe"),
        ('torchrun t.py | tee log\nrc=$?\necho "ended with $rc"\nexit "${rc}"', "pipe"),
        ("torchrun t.py | tee log\nif [ $? -ne 0 ]; then echo failed; exit 1; fi\necho done", "pipe"),
        ("torchrun t.py | tee log\nif [ $? -eq 0 ]; then echo well; else exit 1; fi", "pipe"),
        ("torchrun t.py | tee log\nrc=$?\nif ((rc)); then exit $rc; fi", "pipe"),
        ("torchrun t.py | tee log\n[ $? -eq 0 ] || exit 1", "pipe"),
        ("torchrun t.py | tee log\n[ $? -ne 0 ] && exit 1", ""),
        ("torchrun t.py | tee log\nrc=$?\nrc=$((rc + bad))\nexit $rc", ""),
        ("torchrun t.py | tee log\nrc=$?\ngrep -q Error log && rc=1\nexit $rc", ""),
        ("torchrun t.py | tee log\nif [ $? -eq 0 ]; then exit 4; fi", ""),
        ("torchrun t.py | tee log\nif [ $bad -ne 0 ]; then exit $?; fi", ""),
        ("torchrun t.py | tee log\ngrep -q finished log", ""),
        ("torchrun t.py | tee log\ngrep -q finished log\nexit $?", ""),
        ("check() { grep -q finished log || exit 1; }\ntorchrun t.py | tee log\ncheck\necho done", ""),
        ("set -o pipefail\ntorchrun t.py | tee log\nexit $?", ""),
        ("torchrun t.py | awk '/Error/ {bad = 1} END {exit bad}'\nexit $?", ""),
        ("yes | torchrun t.py", ""),
        ("exec > >(tee log) 2>&1\ntorchrun t.py", ""),
        # what stands behind ||
        ("torchrun t.py || true", "fallback"),
        ("torchrun t.py || :", "fallback"),
        ("set -e\ntorchrun t.py || echo failed\nsleep 5", "fallback"),
        ("torchrun t.py || { echo failed; sleep 60; }", "fallback"),
        ("torchrun t.py || { echo failed; exit 138; }", ""),
        ("torchrun t.py || exit 1", ""),
        ("torchrun t.py || exit 0", "fallback"),
        ("torchrun t.py || exit\necho done", ""),
        ("torchrun t.py || { exit; }\necho done", ""),
        ("torchrun t.py || { echo failed; exit; }", "fallback"),
        ("torchrun t.py | tee log && exit", "pipe"),
        ("torchrun t.py || python fallback.py", ""),
        ("torchrun t.py || rc=$?\nsync\nexit $rc", ""),
        ("torchrun t.py || rc=$?\necho $rc", "fallback"),
        ("fail() { echo failed; exit 1; }\ntorchrun t.py || fail", ""),
        ("fail() { echo failed; }\ntorchrun t.py || fail", "fallback"),
        ("torchrun t.py && echo ok || echo failed", "fallback"),
        ("torchrun t.py || true\n[ -f done ] || exit 1", ""),
        ("! torchrun t.py", ""),
        # what comes after it
        ("torchrun t.py; echo done", "later"),
        ("cd /app\ntorchrun t.py\nsleep 600   # keep it", "later"),
        ("torchrun t.py\nsleep infinity", ""),
        ("torchrun t.py || true\nsleep 7d\necho done", ""),
        ("torchrun t.py\nsleep infinity &\necho done", "later"),
        ("torchrun t.py\nsync", "later"),
        ("torchrun t.py\npython convert.py\necho done", "later"),
        ("torchrun t.py\npython convert.py", ""),
        ("torchrun t.py\nls", "later"),
        ("mkdir -p out\ntorchrun t.py\nls -lh out", "later"),
        ("mkdir -p /d/out\ncd /d\ntorchrun t.py\nls out", "later"),
        ("mkdir -p out\ncd /d\ntorchrun t.py\nls out", ""),
        ("mkdir -p out\ntorchrun t.py\nls out/best.pt", ""),
        ("mkdir -p out\ntorchrun t.py\nls out/*.pt", ""),
        ("[ -d out ] || mkdir out\ntorchrun t.py\nls out", ""),
        ("torchrun t.py\nls out || true", "later"),
        ("torchrun t.py\nls out && echo done", ""),
        ("leave() { exit 3; }\ntorchrun t.py\nleave || true", ""),
        ("torchrun t.py\nexit 0", "exit"),
        ("torchrun t.py\nexit $?", ""),
        ('torchrun t.py\necho "ended with $?"\nexit $?', "exit"),
        ("torchrun t.py\npython convert.py\nexit $?", ""),
        ("torchrun t.py\nrc=$?\necho $rc\nexit $rc", ""),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then exit 3; fi\necho done", ""),
        ("torchrun t.py\nif [ $? -ne 0 ]; then exit 3; fi\necho done", ""),
        ('torchrun t.py\necho "exit code $?"', "later"),
        ("torchrun t.py\nif [ -f failed ]; then exit 3; fi\necho done", ""),
        ("set -e\ntorchrun t.py\necho done", ""),
        ("torchrun t.py\necho a | tee log", "later"),
        ("torchrun t.py && echo ok", ""),
        ("set -e\ntorchrun t.py && echo ok\nsleep 5", "later"),
        ("exec torchrun t.py\necho never", ""),
        ("trap 'rm -f x; exit 3' EXIT\ntorchrun t.py\necho done", ""),
        ("trap 'exit 1' ERR\ntorchrun t.py\necho done", ""),
        ("trap 'rm -f x' EXIT\ntorchrun t.py", ""),
        ("torchrun t.py", ""),
        # jobs
        ("torchrun t.py &\nsleep infinity", "background"),
        ("torchrun t.py &", "background"),
        ("torchrun t.py &\nwait", "wait"),
        ("torchrun t.py &\npid=$!\ntrap 'kill -TERM $pid' TERM\nwait $pid", ""),
        ("set -eu\ntorchrun t.py &\npid=$!\nwait $pid\necho done", ""),
        ("torchrun t.py &\nwait $!\necho done", "later"),
        ("torchrun t.py &\nwait $! || exit 1\necho done", ""),
        ("torchrun t.py &\nwait -n", ""),
        ("torchrun t.py &\npid=$!\nwhile kill -0 $pid; do sleep 5; done\nwait $pid", ""),
        ("for i in 0 1; do\n  torchrun t.py &\ndone\nwait", "wait"),
        ("for i in 0 1; do\n  torchrun t.py & pids+=($!)\ndone\nfor p in ${pids[@]}; do wait $p || exit 1; done", ""),
        # branches, loops, functions
        ("if torchrun t.py; then echo ok; else echo failed; fi", "branch"),
        ("if torchrun t.py; then echo ok; else exit 1; fi", ""),
        ("if torchrun t.py; then echo ok; else exit; fi", ""),
        ("if ! torchrun t.py; then exit; fi\necho done", "branch"),
        ("if ! torchrun t.py; then echo failed; fi", "branch"),
        ("if ! torchrun t.py; then echo failed; exit 1; fi\necho done", ""),
        ("if [ $RANK = 0 ]; then torchrun t.py | tee log; else torchrun t.py; fi", "pipe"),
        ("if [ $RANK = 0 ]; then\n  torchrun t.py\nelse\n  torchrun t.py\nfi", ""),
        ("if [ $RANK = 0 ]; then\n  torchrun t.py\nfi\necho done", "later"),
        ("until torchrun t.py; do sleep 5; done", ""),
        # loops that try again
        ("for i in 1 2 3; do torchrun t.py && break || sleep 5; done", "fallback"),
        ("for i in 1 2 3; do torchrun t.py && break; done", ""),
        ("for i in 1 2 3; do torchrun t.py && break; echo $i; sleep 5; done", "later"),
        ("for i in 1 2 3; do torchrun t.py && break; sleep 5; done\nexit 1", ""),
        ("for i in 1 2 3; do torchrun t.py && break; sleep 5; done\npython upload.py", "later"),
        ("for i in 1 2 3; do if torchrun t.py; then break; fi; sleep 5; done", "branch"),
        ("for i in 1 2 3; do if torchrun t.py; then ok=1; break; fi; sleep 5; done\n[ $ok = 1 ]", ""),
        ("for i in 1 2 3; do if torchrun t.py; then ok=1; break; fi; sleep 5; done\n[ $ok ] || exit 1", ""),
        ("die() { echo $1; exit 1; }\nfor i in 1 2; do torchrun t.py && break; sleep 5; done\ndie failed", ""),
        ("for i in 1 2 3; do torchrun t.py && break; [ $i = 3 ] && exit 1; sleep 5; done", ""),
        ("for i in 1 2 3; do [ $i = 3 ] && exit 1; torchrun t.py && break; sleep 5; done", ""),
        ("for i in 1 2 3; do torchrun t.py && break || rc=$?; sleep 5; done\nexit $rc", ""),
        ("for i in 1 2 3; do torchrun t.py && break || rc=$?; done\n[ $rc -eq 0 ]", ""),
        ("for ((i = 0; i < 3; i++)); do torchrun t.py && break; sleep 5; done", "later"),
        ("for ((;;)); do torchrun t.py && break; sleep 5; done", ""),
        ("while true; do torchrun t.py && break; sleep 5; done", ""),
        ("n=0\nwhile [ $n -lt 3 ]; do torchrun t.py && break; n=$((n + 1)); sleep 5; done", "later"),
        ("n=0\nuntil [ $n -ge 3 ]; do torchrun t.py && break; ((n++)); sleep 5; done", "later"),
        ("n=0\nwhile [ $n -lt 3 ]; do torchrun t.py && break; ((n++)); done", ""),
        ("n=0\nwhile [ $n -lt 1 ]; do torchrun t.py && n=1; sleep 5; done", ""),
        ("n=0\nwhile [ $n -lt $MOST ]; do torchrun t.py && break; sleep 5; done", ""),
        ("rc=1\nwhile [ $rc -gt 0 ]; do torchrun t.py; rc=$?; done", ""),
        ("while [ -f again ]; do torchrun t.py && break; rm -f again; sleep 5; done", ""),
        ("for lr in 1 2; do torchrun t.py --lr $lr | tee log; done", "pipe"),
        ("case $MODE in a) torchrun t.py | tee log;; esac", "pipe"),
        ("run() { torchrun t.py; }\nrun", ""),
        ("run() { torchrun t.py; }\nrun | tee log", "pipe"),
        ("run() { torchrun t.py | tee log; }\nrun", "pipe"),
        ("run() { torchrun t.py; }\nrun || true", "fallback"),
        ("run() {\n  torchrun t.py\n  return $?\n}\nrun", ""),
        ("run() { torchrun t.py; }\nrun\nrun\necho done", "later"),
        ("run() { torchrun t.py; }\nrun || exit 1\nrun\necho done", ""),
        # scripts in scripts
        ('bash -c "torchrun t.py | tee log"', "pipe"),
        ('bash -c "torchrun t.py" | tee log', "pipe"),
        ('bash -o pipefail -c "torchrun t.py | tee log"', ""),
        ('set -e\nbash -c "torchrun t.py"\necho done', ""),
        ('bash -c "torchrun t.py"\necho done', "later"),
    ],
)
def test_ways(text: str, expected: str) -> None:
    assert way(text) == expected


def test_a_script_file_hands_its_status_to_the_one_that_started_it() -> None:
    assert way("bash /inner.sh | tee log", inner="torchrun t.py") == "pipe"
    assert way("bash /inner.sh", inner="torchrun t.py\nsleep 5") == "later"
    assert way("bash /inner.sh", inner="torchrun t.py") == ""
    assert way("source /inner.sh", inner="torchrun t.py | tee log") == ""


def test_the_place_is_what_drops_the_status() -> None:
    found = lost("cd /app\ntorchrun t.py\nsleep 600\n")
    assert found is not None
    assert found.place.text == "sleep 600"
    found = lost("torchrun t.py || true")
    assert found is not None
    assert found.place.text == "true"


@pytest.mark.parametrize(
    ("text", "suffices"),
    [
        ("torchrun t.py | tee log", True),
        ("set -e\ntorchrun t.py | tee log\necho done", True),
        ("torchrun t.py | tee log\necho done", False),
        ("set -e\ntorchrun t.py | tee log\nlast=$(ls *.log | tail -n 1)\necho $last", False),
        ("set -e\ntorchrun t.py | tee log\nls *.log | tail -n 1\necho done", False),
        ("set -e\ntorchrun t.py | tee log\ntorchrun u.py | tee log\necho done | sed s/d/D/", True),
        ("set -e\nlast=$(ls *.log | tail -n 1)\ntorchrun t.py | tee log\necho done", True),
    ],
)
def test_whether_pipefail_is_all_that_is_missing(text: str, suffices: bool) -> None:
    found = lost(text)
    assert found is not None
    assert found.pipefail_suffices is suffices


def test_what_a_pipeline_loses_is_told_by_its_number() -> None:
    found = lost("yes | torchrun t.py | tee log\necho done")
    assert found is not None
    assert found.member == 1
    assert not found.looped


def test_a_loop_may_start_it_several_times() -> None:
    found = lost("for seed in 1 2; do\n  torchrun t.py --seed $seed &\ndone\nwait")
    assert found is not None
    assert found.way == "wait"
    assert found.looped


def test_an_array_has_no_script_to_lose_it_in() -> None:
    from kube_gaplint.launch.start import start
    from kube_gaplint.model.command import Word

    place = WholeText(Source("a.yaml", "torchrun t.py")).place(0, 8)
    started = start((Word(("torchrun",), place), Word(("t.py",), place)), Environment(Origin(place)))
    assert lost_status(started.commands[0]) is None
    assert end_status(started.commands[0]) is not None


def test_the_command_is_that_of_the_script_which_drops_the_status() -> None:
    found = lost('srun bash -c "ls" | tee a\nbash -c "torchrun t.py" | tee log')
    assert found is not None
    assert found.command.place.text == 'bash -c "torchrun t.py"'
    assert found.place.text == 'bash -c "torchrun t.py" | tee log'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # its own
        ("torchrun t.py", "own"),
        ("exec torchrun t.py", "own"),
        ("set -e\ntorchrun t.py\necho done", "own"),
        ("torchrun t.py\nexit $?", "own"),
        ("set -o pipefail\ntorchrun t.py | tee log", "own"),
        ("torchrun t.py && echo ok", "own"),
        ("torchrun t.py &\nwait $!", "own"),
        ("bash -c 'torchrun t.py'", "own"),
        ("run() { torchrun t.py; }\nrun", "own"),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then echo no; exit $rc; fi\necho done", "own"),
        ('torchrun t.py\nrc=$?\nif [[ "${rc}" != 0 ]]; then\n  exit ${rc}\nfi\necho done', "own"),
        ("torchrun t.py\nrc=$?\nif ((rc)); then exit $rc; fi\necho done", "own"),
        ("for x in a b; do\n  torchrun t.py\n  rc=$?\n  if test $rc -gt 0; then exit $rc; fi\ndone", "own"),
        # another one
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then exit 138; fi\necho done", 138),
        ("torchrun t.py || exit 138", 138),
        ("torchrun t.py || { echo again; exit 138; }", 138),
        ("torchrun t.py || { rc=$?; exit 300; }", 44),
        ("if ! torchrun t.py; then exit 130; fi\necho done", 130),
        ("set -e\n(torchrun t.py || exit 129)\necho done", 129),
        ("bash -c 'torchrun t.py || exit 137'", 137),
        ("bash -c 'torchrun t.py || exit 137' || exit 3", 3),
        ("fail() { exit 140; }\ntorchrun t.py || fail", 140),
        # lost, or chosen by what is not followed
        ("torchrun t.py || true", None),
        ("torchrun t.py | tee log", None),
        ("torchrun t.py; rc=$?; [ $rc -eq 7 ] && exit 138; exit $rc", None),
        ("torchrun t.py\nif [ $? -ne 0 ]; then exit 138; fi", None),
        ("trap 'exit 138' ERR\ntorchrun t.py", None),
        ("bash -c \"trap 'exit 138' EXIT; torchrun t.py\"", None),
        ("torchrun t.py || exit $CODE", None),
        ("torchrun t.py\nrc=$?\nif [ $rc -eq 0 ]; then exit $rc; fi\necho done", None),
        ("torchrun t.py\nrc=$?\nif [ $other -ne 0 ]; then exit $rc; fi\necho done", None),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then exit 0; fi\necho done", None),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then exit $other; fi\necho done", None),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then echo again; fi\necho done", None),
        ("torchrun t.py\nrc=$?\nif [ $rc -ne 0 ]; then bash again.sh; exit $rc; fi\necho done", None),
        ("torchrun t.py || exit 99999999999999999999", None),
        ("until torchrun t.py; do sleep 5; done", None),
    ],
)
def test_status_at_the_end(text: str, expected: int | str | None) -> None:
    found = end_status(command_in(text))
    assert (None if found is None else "own" if found.code is None else found.code) == expected


def test_the_place_of_a_chosen_status() -> None:
    found = end_status(command_in("torchrun t.py || { echo again; exit 138; }"))
    assert found is not None
    assert found.place is not None
    assert found.place.text == "exit 138"
