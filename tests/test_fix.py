"""Fixes change what they mean to change, and nothing else."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kube_gaplint import fix
from kube_gaplint.findings import (
    AddLine,
    AddOption,
    Change,
    Finding,
    Fix,
    RemoveEntry,
    RenameKey,
    ReplaceValue,
    SetKey,
    SetVariable,
    Severity,
    Suppressed,
    rescaled,
)
from kube_gaplint.model.setting import Link, Origin
from kube_gaplint.model.subject import Subject
from kube_gaplint.text.compose import compose
from kube_gaplint.text.nodes import Mapping, Node, Scalar, dig
from kube_gaplint.text.scalar_text import scalar_text
from kube_gaplint.text.source import Place, Source, Span


def finding(*changes: Change, origin: Origin | None = None, safe: bool = True, code: str = "NCCL001") -> Finding:
    first = changes[0]
    if origin is None:
        origin = first.home if isinstance(first, SetVariable) else getattr(first, "origin", None) or first.parent  # type: ignore[union-attr]
    return Finding(
        code=code,
        name="rule",
        severity=Severity.WARNING,
        message="message",
        consequence="",
        subject=Subject("Job"),
        origin=origin,
        related=(),
        evidence=(),
        fix=Fix("title", changes, safe=safe),
        fingerprint="",
    )


class File:
    """A file with what tests point at."""

    def __init__(self, text: str, path: str = "f.yaml") -> None:
        self.source = Source(path, text)
        self.documents = compose(self.source).documents

    def node(self, *path: str | int, document: int = 0) -> Node:
        found = dig(self.documents[document].root, *path)
        assert found is not None
        return found

    def origin(self, *path: str | int, document: int = 0) -> Origin:
        """A node's origin as the model gives it."""
        node = self.node(*path, document=document)
        return Origin(node.place, node=node)

    def entry(self, *path: str | int) -> Origin:
        """An entry's origin: the place is key and value."""
        parent = self.node(*path[:-1])
        assert isinstance(parent, Mapping)
        entry = parent.entry(str(path[-1]))
        assert entry is not None
        return Origin(entry.place, node=entry.value)

    def word(self, shown: str, nth: int = 0) -> Origin:
        """The origin of a word in a script: a place without a node."""
        at = -1
        for _ in range(nth + 1):
            at = self.source.text.index(shown, at + 1)
        return Origin(Place(self.source, Span(at, at + len(shown))))


def fixed(*findings: Finding, unsafe: bool = False) -> str:
    """The text of the one file that changes; no fix is dropped."""
    plan = fix.plan(findings, unsafe=unsafe)
    assert not plan.dropped, plan.dropped
    assert len(plan.changes) == 1
    return plan.changes[0].new_text


def reason(*findings: Finding) -> str:
    plan = fix.plan(findings, unsafe=True)
    assert not plan.changes
    assert len(plan.dropped) == 1
    return plan.dropped[0].reason


# Variables

POD = """\
spec:
  containers:
    - name: main  # the trainer
      image: x
      env:
        - name: A
          value: "1"
        # about B
        - name: B
          valueFrom:
            fieldRef: {fieldPath: metadata.name}
    - name: side
      image: y
"""


def test_a_variable_is_added_behind_its_siblings() -> None:
    file = File(POD)
    home = file.origin("spec", "containers", 0)
    result = fixed(finding(SetVariable(home, "NCCL_X", "1")))
    assert result == POD.replace("metadata.name}\n", 'metadata.name}\n        - name: NCCL_X\n          value: "1"\n')


def test_a_variable_that_is_there_gets_its_value() -> None:
    file = File(POD)
    home = file.origin("spec", "containers", 0)
    assert fixed(finding(SetVariable(home, "A", "22"))) == POD.replace('value: "1"', 'value: "22"')


def test_the_first_variables_make_an_environment() -> None:
    file = File(POD)
    home = file.origin("spec", "containers", 1)
    one = finding(SetVariable(home, "X", "1"), SetVariable(home, "W", "yes it is"))
    other = finding(SetVariable(home, "Z", "/data"), SetVariable(home, "X", "1"), code="NCCL002")
    result = fixed(one, other)
    assert result == POD + (
        '      env:\n        - name: X\n          value: "1"\n        - name: W\n          value: yes it is\n'
        "        - name: Z\n          value: /data\n"
    )


def test_a_variable_from_elsewhere_is_left_alone() -> None:
    file = File(POD)
    assert "takes its value from elsewhere" in reason(
        finding(SetVariable(file.origin("spec", "containers", 0), "B", "1"))
    )


def test_a_variable_is_changed_where_the_finding_shows_it() -> None:
    text = "- name: c\n  env: [{name: A, value: '0'}]\n  args:\n  - |\n    export A=0\n    python train.py\n"
    file = File(text)
    home = file.origin(0)
    in_env = finding(SetVariable(home, "A", "1"), origin=file.origin(0, "env", 0, "value"))
    assert fixed(in_env) == text.replace("'0'", "'1'")
    in_script = finding(SetVariable(home, "A", "1"), origin=file.word("A=0"))
    assert fixed(in_script) == text.replace("export A=0", "export A=1")
    other = finding(SetVariable(home, "B", "1"), origin=file.word("A=0"))
    assert fixed(other) == text.replace("value: '0'}]", "value: '0'}, {name: B, value: '1'}]")


@pytest.mark.parametrize("written", ["yes", "0", "true"])
def test_a_variable_becomes_a_text(written: str) -> None:
    """Kubernetes refuses a bool or a number as the value of a variable."""
    text = f"- name: c\n  env:\n  - name: A\n    value: {written}\n"
    file = File(text)
    home = file.origin(0)
    wanted = text.replace(f"value: {written}", 'value: "1"')
    assert fixed(finding(SetVariable(home, "A", "1"), origin=file.origin(0, "env", 0, "value"))) == wanted
    assert fixed(finding(SetVariable(home, "A", "1"))) == wanted


def test_fixes_that_contradict_one_another() -> None:
    file = File(POD)
    home = file.origin("spec", "containers", 0)
    plan = fix.plan([finding(SetVariable(home, "X", "1")), finding(SetVariable(home, "X", "2"))], unsafe=False)
    assert [dropped.reason for dropped in plan.dropped] == ["another fix writes something else at the same place"]
    assert plan.changes[0].new_text.count("name: X") == 1


BATCH = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --gres=gpu:8

set -e
srun python train.py
"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_variable_of_a_batch_script_is_exported_behind_the_header(newline: str) -> None:
    text = BATCH.replace("\n", newline)
    file = File(text, "job.sbatch")
    header = file.word(f"#SBATCH --nodes=4{newline}#SBATCH --gres=gpu:8")
    result = fixed(finding(SetVariable(header, "NCCL_X", "a b")))
    assert result == text.replace("gpu:8", f"gpu:8{newline}{newline}export NCCL_X='a b'")


def test_a_batch_script_in_a_literal_text() -> None:
    indented = "".join(f"    {line}\n" if line else "\n" for line in BATCH.splitlines())
    text = f"data:\n  job.sh: |\n{indented}  other: 1 # keep\n"
    file = File(text)
    header = file.word("#SBATCH --nodes=4\n    #SBATCH --gres=gpu:8")
    result = fixed(
        finding(SetVariable(header, "A", "1")),
        finding(SetVariable(header, "B", "2")),
        finding(AddOption(file.word("srun"), ("--kill-on-bad-exit=1", "--wait=60")), code="SLURM001"),
    )
    assert result == text.replace("gpu:8\n", "gpu:8\n\n    export A=1\n    export B=2\n").replace(
        "srun ", "srun --kill-on-bad-exit=1 --wait=60 "
    )


def test_directives_go_in_front_of_exports() -> None:
    file = File(BATCH, "job.sbatch")
    header = file.word("#SBATCH --nodes=4\n#SBATCH --gres=gpu:8")
    result = fixed(
        finding(SetVariable(header, "A", "1")),
        finding(AddLine(header, "#SBATCH --requeue", "header"), code="SLURM002"),
        finding(SetVariable(header, "B", "2"), code="NCCL002"),
    )
    assert result == BATCH.replace("gpu:8\n", "gpu:8\n#SBATCH --requeue\n\nexport A=1\nexport B=2\n")


def test_exports_go_behind_those_that_follow_the_header() -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --comment=it's\n"
    file = File(f"{head}\nexport A=1 # one\nexport B='2'\n\nexport C=3\nsrun x\n", "job.sbatch")
    result = fixed(finding(SetVariable(file.word("#SBATCH --nodes=4"), "X", "1")))
    assert result == f"{head}\nexport A=1 # one\nexport B='2'\nexport X=1\n\nexport C=3\nsrun x\n"


@pytest.mark.parametrize("following", ["export A='1\n2'\n", "export A=1 \\\n  B=2\n", "export A=`x\n`\n", "set -e\n"])
def test_exports_do_not_go_into_a_command(following: str) -> None:
    head = "#!/bin/bash\n#SBATCH --nodes=4\n"
    file = File(f"{head}\n{following}srun x\n", "job.sbatch")
    result = fixed(finding(SetVariable(file.word("#SBATCH --nodes=4"), "X", "1")))
    assert result == f"{head}\nexport X=1\n\n{following}srun x\n"


@pytest.mark.parametrize("style", [">-", '"', "'", "plain"])
def test_lines_need_a_literal_text(style: str) -> None:
    body = "#SBATCH -N 2\n  \n  srun x"
    text = {
        ">-": f"a: >-\n  {body}\n",
        '"': f'a: "{body}"\n',
        "'": f"a: '{body}'\n",
        "plain": f"a:\n  x {body.replace('#', '')}\n",
    }[style]
    file = File(text)
    assert "line by line" in reason(finding(AddLine(file.word("srun"), "set -o pipefail")))


# Keys


def test_keys_are_set_and_missing_mappings_made() -> None:
    text = "kind: Job # k\nspec:\n    a: 1\n    # tail\n\nmetadata: {name: x}\n"
    file = File(text)
    spec, root = file.origin("spec"), file.origin()
    result = fixed(
        finding(
            SetKey(spec, ("run", "policy"), "Running"),
            SetKey(spec, ("run", "limit"), 0),
            SetKey(spec, ("a",), 2),
            SetKey(root, ("metadata", "annotations", "x/y"), "true"),
        )
    )
    assert result == (
        "kind: Job # k\nspec:\n    a: 2\n    run:\n        policy: Running\n        limit: 0\n    # tail\n\n"
        'metadata: {name: x, annotations: {x/y: "true"}}\n'
    )


def test_one_finding_writes_behind_nested_mappings_that_end_together() -> None:
    file = File("top:\n  a:\n    b:\n      c: 1\n")
    top, inner = file.origin("top"), file.origin("top", "a", "b")
    result = fixed(finding(SetKey(top, ("x",), 1), SetKey(inner, ("y1",), {"z": 2}), SetKey(file.origin(), ("w",), 3)))
    assert result == "top:\n  a:\n    b:\n      c: 1\n      y1:\n        z: 2\n  x: 1\nw: 3\n"


@pytest.mark.parametrize(
    ("text", "key", "result"),
    [
        (
            "spec:\n  a: 1 # one\n  # all pods\n  template:\n    b: 2\n",
            "x",
            "spec:\n  a: 1 # one\n  x: 3\n  # all pods\n  template:\n    b: 2\n",
        ),
        ("spec:\n  c:\n  - 1\n  template: {}\n", "x", "spec:\n  c:\n  - 1\n  x: 3\n  template: {}\n"),
        ("spec:\n  template:\n    b: 2\n  c: 1\n", "x", "spec:\n  x: 3\n  template:\n    b: 2\n  c: 1\n"),
        (
            "spec:\n  # all pods\n  template:\n    b: 2\n  c: 1\n",
            "x",
            "spec:\n  # all pods\n  template:\n    b: 2\n  c: 1\n  x: 3\n",
        ),
        ("spec: {a: 1, template: {b: 2}}\n", "x", "spec: {a: 1, template: {b: 2}, x: 3}\n"),
    ],
)
def test_a_new_key_stands_in_front_of_the_bulk(text: str, key: str, result: str) -> None:
    file = File(text)
    assert fixed(finding(SetKey(file.origin("spec"), (key,), 3))) == result


def test_a_new_key_of_an_item_stands_in_front_of_the_bulk() -> None:
    file = File("jobs:\n- template:\n    b: 2\n")
    assert fixed(finding(SetKey(file.origin("jobs", 0), ("x",), 3))) == "jobs:\n- x: 3\n  template:\n    b: 2\n"


def test_two_findings_make_one_missing_mapping() -> None:
    file = File("spec:\n  a: 1\n")
    spec = file.origin("spec")
    result = fixed(finding(SetKey(spec, ("run", "b"), 1)), finding(SetKey(spec, ("run", "c"), "x"), code="B"))
    assert result == "spec:\n  a: 1\n  run:\n    b: 1\n    c: x\n"


def test_a_value_that_is_there_already_is_no_change() -> None:
    file = File("spec: {a: 1}\n")
    assert "written there already" in reason(finding(SetKey(file.origin("spec"), ("a",), 1)))


def test_values_are_replaced_as_what_they_are() -> None:
    text = "a: 3\nb: 'x'\nc: never # why\nd: [srun, --wait=0]\n"
    file = File(text)
    result = fixed(
        finding(ReplaceValue(file.entry("a"), "0")),
        finding(ReplaceValue(file.entry("b"), "1")),
        finding(ReplaceValue(file.origin("c"), "yes")),
        finding(ReplaceValue(file.word("--wait=0"), "--wait=60")),
    )
    assert result == "a: 0\nb: '1'\nc: 'yes' # why\nd: [srun, --wait=60]\n"


def test_a_value_becomes_text_where_only_text_will_do() -> None:
    file = File("a: true # why\nb: 3\n")
    result = fixed(
        finding(ReplaceValue(file.entry("a"), "true", as_text=True)),
        finding(ReplaceValue(file.entry("b"), "3", as_text=True)),
    )
    assert result == 'a: "true" # why\nb: "3"\n'


def test_words_of_scripts_are_replaced() -> None:
    text = 'a:\n- bash\n- -c\n- "echo \\"x\\"; srun --wait=0 é"\nb: >-\n  one --wait=1\n  two\n'
    file = File(text)
    result = fixed(
        finding(ReplaceValue(file.word("--wait=0"), "--wait=60")),
        finding(ReplaceValue(file.word("--wait=1"), "--wait=61")),
    )
    assert result == text.replace("--wait=0", "--wait=60").replace("--wait=1", "--wait=61")
    assert "escapes" in reason(finding(ReplaceValue(file.word('\\"x\\"'), "y")))


def test_values_inside_yaml_inside_a_text_are_edited_as_text() -> None:
    text = "data:\n  config.yaml: |\n    interval: 5000  # steps\n    other: 1\n"
    file = File(text)
    outer = scalar_text(file.node("data", "config.yaml"))  # type: ignore[arg-type]
    inner = dig(compose(Source("f.yaml", outer.text)).documents[0].root, "interval")
    assert isinstance(inner, Scalar)
    place = outer.place(inner.span.start, inner.span.end)
    inner.source, inner.span = place.source, place.span
    result = fixed(finding(ReplaceValue(Origin(place, node=inner), "250")))
    assert result == text.replace("5000", "250")


def test_keys_and_variables_are_renamed() -> None:
    text = "a: 1\nenv:\n- name: OLD\n  value: x\nrun: |\n  export OLDER=1\n"
    file = File(text)
    key = file.node().entries[0].key  # type: ignore[attr-defined]
    result = fixed(
        finding(RenameKey(Origin(key.place, node=key), "b")),
        finding(RenameKey(file.origin("env", 0, "value"), "NEW")),
        finding(RenameKey(file.word("OLDER=1"), "NEWER")),
    )
    assert result == text.replace("a: 1", "b: 1").replace("OLD\n", "NEW\n").replace("OLDER", "NEWER")


def test_entries_are_removed() -> None:
    env = "env:\n- {name: X, value: y}\n- name: Z\n  value: z\n"
    text = f"a: 1\nb:\n  c: 2 # two\n{env}run: |\n  export A=1\n  export B=2\n"
    file = File(text)
    result = fixed(
        finding(RemoveEntry(file.entry("b"))),
        finding(RemoveEntry(file.origin("env", 0, "value"))),
        finding(RemoveEntry(file.word("A=1"))),
    )
    assert result == "a: 1\nenv:\n- name: Z\n  value: z\nrun: |\n  export B=2\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_moves_from_in_front_of_the_bulk_takes_its_own_place(newline: str) -> None:
    text = newline.join(["spec:", "  limit: 3 # three", "  template:", "    b: 2", ""])
    file = File(text)
    result = fixed(finding(RemoveEntry(file.entry("spec", "limit")), SetKey(file.origin("spec"), ("run", "limit"), 3)))
    assert result == newline.join(["spec:", "  run:", "    limit: 3", "  template:", "    b: 2", ""])


def test_words_and_directives_are_removed() -> None:
    file = File("#!/bin/bash\n#SBATCH --no-kill\n#SBATCH -N 2\nsrun --no-kill x\n", "job.sh")
    result = fixed(finding(RemoveEntry(file.word("--no-kill"))), finding(RemoveEntry(file.word("--no-kill", 1))))
    assert result == "#!/bin/bash\n#SBATCH -N 2\nsrun x\n"


def test_what_says_nothing_when_it_is_empty_goes_with_its_last_entry() -> None:
    text = "a:\n  resources:\n    limits:\n      disk: 2Gi\n  cache:\n    emptyDir:\n      medium: Memory\n"
    file = File(text)
    assert fixed(finding(RemoveEntry(file.origin("a", "resources", "limits", "disk")))) == text.replace(
        "  resources:\n    limits:\n      disk: 2Gi\n", ""
    )
    volume = fixed(finding(RemoveEntry(file.origin("a", "cache", "emptyDir", "medium"))))
    assert "emptyDir: {}" in volume  # without it there would be no volume


# Options and lines


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("command: [srun, python]\n", "command: [srun, --wait=60, python]\n"),
        ('command: ["srun", "python"]\n', 'command: ["srun", "--wait=60", "python"]\n'),
        ("command:\n- srun # first\n- python\n", "command:\n- srun # first\n- --wait=60\n- python\n"),
        ('command: ["sh", "-c", "srun x"]\n', 'command: ["sh", "-c", "srun --wait=60 x"]\n'),
        ("command: [sh, -c, srun]\n", "command: [sh, -c, srun --wait=60]\n"),
        ("command: >-\n  srun\n  x\n", "command: >-\n  srun --wait=60\n  x\n"),
        ("command: |\n  srun \\\n    x\n", "command: |\n  srun --wait=60 \\\n    x\n"),
        ("command: srun x\n", "command: srun --wait=60 x\n"),
        ("command: 'srun'\n", "command: 'srun --wait=60'\n"),
    ],
)
def test_options_go_behind_the_program(text: str, result: str) -> None:
    file = File(text)
    assert fixed(finding(AddOption(file.word("srun"), ("--wait=60",)))) == result


@pytest.mark.parametrize(
    ("text", "value", "result"),
    [
        ("command: [x, --save, /a]\n", "/a", "command: [x, --save, /a, --keep, '3']\n"),
        ("command: [x, --save=/a]\n", "--save=/a", "command: [x, --save=/a, --keep, '3']\n"),
        ("command:\n- x\n- --save=/a\n- --b\n", "/a", 'command:\n- x\n- --save=/a\n- --keep\n- "3"\n- --b\n'),
        ("run: |\n  x --save /a \\\n    --b\n", "/a", "run: |\n  x --save /a --keep 3 \\\n    --b\n"),
        ("run: |\n  x --save '/a' --b\n", "/a", "run: |\n  x --save '/a' --keep 3 --b\n"),
        ("run: 'x --save /a'\n", "/a", "run: 'x --save /a --keep 3'\n"),
        ("run: \"ARGS='--save /a'\"\n", "/a", "run: \"ARGS='--save /a --keep 3'\"\n"),
    ],
)
def test_options_go_behind_the_value_of_another(text: str, value: str, result: str) -> None:
    file = File(text)
    assert fixed(finding(AddOption(file.word(value), ("--keep", "3")))).replace('"3"', "'3'") == result.replace(
        '"3"', "'3'"
    )


def test_options_do_not_go_into_the_middle_of_a_word() -> None:
    file = File("x --save /a/$JOB --b\n", "run.sh")
    assert "the word goes on" in reason(finding(AddOption(file.word("/a"), ("--keep", "3"))))


@pytest.mark.parametrize(
    ("shown", "result"),
    [
        ("--minutes=300", "--minutes=30"),
        ("300", "30"),
        ("'300'", "'30'"),
        ("hours=12", "hours=1"),
        ("5h", None),
        ("$MINUTES", None),
        ("0", None),
    ],
)
def test_numbers_are_changed_in_the_unit_in_which_they_are_written(shown: str, result: str | None) -> None:
    text = f"#!/bin/sh\nx {shown} y\n"
    file = File(text, "run.sh")
    changes = rescaled(file.word(shown), 18000.0, 1800.0)
    assert bool(changes) is (result is not None)
    if result is not None:
        assert fixed(finding(*changes)) == text.replace(shown, result.strip("'"))


def test_a_line_goes_before_the_command() -> None:
    text = "a: |\n  if x; then\n    python \\\n      y | tee log\n  fi\n"
    file = File(text)
    result = fixed(finding(AddLine(file.word("y | tee log"), "set -o pipefail")))
    assert result == text.replace("    python", "    set -o pipefail\n    python")


def test_a_line_goes_before_the_comments_on_the_command() -> None:
    text = "#!/bin/bash\n#SBATCH --nodes=4\n# all ranks\n# to debug: echo\nsrun x | tee log\n"
    result = fixed(finding(AddLine(File(text, "run.sh").word("srun"), "set -o pipefail")))
    assert result == text.replace("# all ranks", "set -o pipefail\n# all ranks")
    inner = "a: |\n  # all ranks\n  srun x | tee log\n"
    result = fixed(finding(AddLine(File(inner).word("srun"), "set -o pipefail")))
    assert result == inner.replace("  # all", "  set -o pipefail\n  # all")


def test_a_line_that_breaks_the_script_is_not_added() -> None:
    file = File("case $1 in\n  a) srun x;;\nesac\n", "run.sh")
    assert "no longer be understood" in reason(finding(AddLine(file.word("srun"), "set -o pipefail")))


# What is left alone


def test_what_others_share_is_left_alone() -> None:
    text = "kind: A\nspec: {a: 1}\n---\nkind: ConfigMap\ndata: {x: 'y'}\n"
    file = File(text)
    shared = file.origin("data", "x", document=1)
    chained = Origin(shared.place, chain=(Link(file.origin("spec").place, "envFrom"),), node=shared.node)
    assert "others may share" in reason(finding(ReplaceValue(chained, "z"), origin=file.origin("spec", "a")))
    assert fixed(finding(ReplaceValue(chained, "z"), origin=shared)).endswith("{x: 'z'}\n")


def test_what_an_alias_repeats_is_left_alone() -> None:
    file = File("a: &x {b: 1}\nc: *x\nd: &s |\n  srun x\ne: *s\n")
    assert "alias" in reason(finding(SetKey(file.origin("a"), ("b",), 2)))
    assert "alias" in reason(finding(AddOption(file.word("srun"), ("-K",))))


def test_suppressed_and_unsafe_fixes_are_not_made() -> None:
    file = File("a: 1\n")
    change = SetKey(file.origin(), ("b",), 2)
    silenced = finding(change).with_suppression(Suppressed("reason", None))
    assert fix.plan([silenced, finding(change, safe=False)], unsafe=False) == fix.FixPlan()
    assert fixed(finding(change, safe=False), unsafe=True) == "a: 1\nb: 2\n"


def test_a_fix_that_changes_another_value_is_dropped() -> None:
    file = File("a:\n  run: |\n    text")  # the text would gain a line end
    assert "more than is meant" in reason(finding(SetKey(file.origin("a"), ("b",), 1)))


def test_one_bad_fix_does_not_spoil_the_others() -> None:
    text = "a:\n  x: 1\nb:\n  run: |\n    text"
    file = File(text)
    good, bad = finding(SetKey(file.origin("a"), ("z",), 1)), finding(SetKey(file.origin("b"), ("c",), 1))
    plan = fix.plan([good, bad], unsafe=False)
    assert plan.changes[0].new_text == text.replace("x: 1", "x: 1\n  z: 1")
    assert [dropped.finding for dropped in plan.dropped] == [bad]


def test_many_files_and_documents() -> None:
    one, two = File("a: 1\n---\nb: 1\n", "one.yaml"), File("c: 1\n", "two.yaml")
    plan = fix.plan(
        [
            finding(SetKey(two.origin(), ("x",), 1)),
            finding(SetKey(one.origin(document=1), ("x",), 1)),
            finding(SetKey(one.origin(), ("x",), 1)),
        ],
        unsafe=False,
    )
    assert [(change.path, change.new_text, len(change.findings)) for change in plan.changes] == [
        ("two.yaml", "c: 1\nx: 1\n", 1),
        ("one.yaml", "a: 1\nx: 1\n---\nb: 1\nx: 1\n", 2),
    ]


# Files


def change_of(path: Path, text: str, edit: Callable[[str], str]) -> fix.FileChange:
    return fix.FileChange(Source(str(path), text), edit(text), ())


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_writing_keeps_encoding_and_mode(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes("a: é\r\n".encode(encoding))
    path.chmod(0o640)
    fix.write(change_of(path, "a: é\r\n", lambda text: text + "b: 1\r\n"))
    assert path.read_bytes().decode(encoding) == "a: é\r\nb: 1\r\n"
    assert path.read_bytes().startswith("a: é\r\n".encode(encoding))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert os.listdir(tmp_path) == ["f.yaml"]  # noqa: PTH208


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "f.yaml", tmp_path / "link.yaml"
    path.write_text("a: 1\n")
    link.symlink_to(path)
    fix.write(change_of(link, "a: 1\n", lambda text: text + "b: 1\n"))
    assert link.is_symlink()
    assert path.read_text() == "a: 1\nb: 1\n"


@pytest.mark.parametrize("now", [b"a: 2\n", b"\x00\x01\x02"])
def test_a_file_that_has_changed_is_not_written(tmp_path: Path, now: bytes) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(now)
    with pytest.raises(fix.Stale):
        fix.write(change_of(path, "a: 1\n", str.upper))
    assert path.read_bytes() == now


def test_diffs_apply(tmp_path: Path) -> None:
    for name, text in (
        ("plain.yaml", "a: 1\nb: 2\n"),
        ("no end.yaml", "a: 1\nb: 2"),
        ("crlf.yaml", "a: 1\r\nb: 2\r\n"),
    ):
        path = tmp_path / name
        path.write_bytes(text.encode())
        change = fix.FileChange(Source(f"./{name}", text), text.replace("1", "one\x0c") + "c: 3", ())
        diff = change.diff()
        assert diff.startswith(f"--- a/{name}\n+++ b/{name}\n@@ ")
        done = subprocess.run(
            ["git", "apply", "--whitespace=nowarn"], cwd=tmp_path, input=diff.encode(), check=False, capture_output=True
        )
        assert done.returncode == 0, done.stderr
        assert path.read_bytes().decode() == change.new_text
    assert fix.FileChange(Source("x", "a"), "a", ()).diff() == ""
