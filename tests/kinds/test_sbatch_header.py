"""#SBATCH lines as sbatch reads them (k8s.md B5; src/sbatch/opt.c)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.kinds import sbatch_header
from kube_gaplint.kinds.sbatch_header import Header, read_header
from kube_gaplint.model.setting import Set, Unknown
from kube_gaplint.model.slurm import Directive
from kube_gaplint.text.source import Source, WholeText


def header(text: str) -> Header:
    return read_header(WholeText(Source("job.sbatch", text)))


def directives(*lines: str) -> list[Directive]:
    return header("\n".join(("#!/bin/bash", *lines, ""))).directives


def shown(*lines: str) -> list[tuple[str, str]]:
    return [
        (directive.name, directive.value.value if isinstance(directive.value, Set) else "?")
        for directive in directives(*lines)
        if directive.in_force
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#SBATCH --nodes=4", [("nodes", "4")]),
        ("#SBATCH --nodes 4", [("nodes", "4")]),
        ("#SBATCH -N 4", [("nodes", "4")]),
        ("#SBATCH -N4", [("nodes", "4")]),
        ("#SBATCH --part=gpu", [("partition", "gpu")]),
        ("#SBATCH --time 100:00:00 -p gpu", [("time", "100:00:00"), ("partition", "gpu")]),
        ("#SBATCH -N 2 -n16 --requeue", [("nodes", "2"), ("ntasks", "16"), ("requeue", "")]),
        ("#SBATCH --job-name=a # the name", [("job-name", "a")]),
        ('#SBATCH --comment="two words" -J x', [("comment", "two words"), ("job-name", "x")]),
        ("#SBATCH --output='a b.log'", [("output", "a b.log")]),
        (r"#SBATCH --output=a\ b.log", [("output", "a b.log")]),
        ("#SBATCH --tasks-per-node=8", [("ntasks-per-node", "8")]),
        ("#SBATCH --exclusive", [("exclusive", "")]),
        ("#SBATCH --container-image=a#b", [("container-image", "a")]),
        ("#SBATCH --nodes=4\r", [("nodes", "4")]),
        ("#SBATCH\t--nodes=4", [("nodes", "4")]),
        ("##SBATCH --requeue", []),
        ("#-SBATCH --requeue", []),
        ("# about SBATCH --requeue", []),
    ],
)
def test_what_is_in_force(line: str, expected: list[tuple[str, str]]) -> None:
    assert shown(line) == expected


def test_places_cover_the_option_and_its_value() -> None:
    found = directives("#SBATCH -N 4 --gres gpu:8  --mem=0")
    assert [directive.place.text for directive in found] == ["-N 4", "--gres gpu:8", "--mem=0"]
    assert {directive.line.start.line for directive in found} == {2}


@pytest.mark.parametrize(
    ("lines", "name", "problem"),
    [
        (["# SBATCH --time=10"], "time", sbatch_header.WITH_BLANK),
        (["  #SBATCH --time=10"], "time", sbatch_header.INDENTED),
        (["set -e", "#SBATCH --time=10"], "time", sbatch_header.AFTER_COMMAND),
        (["#SBATCH --kill-on-bad-exit=1"], "kill-on-bad-exit", "srun"),
        (["#SBATCH -K1"], "kill-on-bad-exit", "srun"),
        (["#SBATCH --mpi=pmix"], "mpi", "srun"),
        (["#SBATCH --wait=60"], "wait", "takes no value"),
        (["#SBATCH --nodes 4 many"], "many", "no option"),
    ],
)
def test_lines_without_force_say_why(lines: list[str], name: str, problem: str) -> None:
    found = [directive for directive in directives(*lines) if directive.problem]
    assert [directive.name for directive in found] == [name]
    assert problem in found[0].problem
    assert not found[0].in_force


def test_an_option_that_nobody_knows_may_be_a_plugins() -> None:
    assert [directive.problem for directive in directives("#SBATCH --site-option=3")] == [""]


@pytest.mark.parametrize("text", ["{{ nodes }}", "${NODES}", "$NODES", "<nodes>"])
def test_placeholders_are_unknown(text: str) -> None:
    found = directives(f"#SBATCH --nodes={text}" if " " not in text else f'#SBATCH --nodes="{text}"')
    assert isinstance(found[0].value, Unknown)
    assert found[0].problem == ""


@pytest.mark.parametrize(
    "text", ["<your options>", "[options]", "{options}", "{ options }", "{{ options }}", "${OPTIONS}", "$OPTIONS",
             "{% if big %}--nodes=8{% endif %}"],
)  # fmt: skip
def test_a_placeholder_may_hold_any_option(text: str) -> None:
    found = header(f"#!/bin/bash\n#SBATCH {text} --requeue\n")
    assert found.open_because
    assert [one.name for one in found.directives if one.in_force] == ["requeue"]
    assert [one.is_placeholder for one in found.directives if not one.in_force] == [True]


@pytest.mark.parametrize(
    ("lines", "by_hand"),
    [
        ("#SBATCH <your options>", True), ("#SBATCH [options]", True), ("#SBATCH $OPTIONS", False),
        ("#SBATCH {{ options }}", False), ("#SBATCH <your options> $OPTIONS", False), ("#SBATCH -N1", False),
        ("#SBATCH <your options>\n{{ more }}", False),
    ],
)  # fmt: skip
def test_angle_and_square_brackets_are_filled_in_by_hand(lines: str, by_hand: bool) -> None:
    assert header(f"#!/bin/bash\n{lines}\nsrun x\n").filled_by_hand is by_hand


@pytest.mark.parametrize("line", ["-p { queue }", "-p <your queue>", "--partition={args.queue}", "-p [queue]"])
def test_a_placeholder_with_blanks_is_one_value(line: str) -> None:
    found = header(f"#!/bin/bash\n#SBATCH {line}\n")
    assert [(one.name, isinstance(one.value, Unknown)) for one in found.directives] == [("partition", True)]
    assert found.open_because == ""


def test_brackets_of_host_lists_are_no_placeholders() -> None:
    assert shown("#SBATCH -x rack-k[1,2],rack-m1") == [("exclude", "rack-k[1,2],rack-m1")]


def test_a_line_of_a_template_may_become_options() -> None:
    assert header("#!/bin/bash\n#SBATCH -N1\n{{ options }}\nsrun x\n").open_because
    assert not header("#!/bin/bash\n#SBATCH -N1\nsrun x {{ options }}\n").open_because


@pytest.mark.parametrize(
    "line",
    ["{account}", "{account_line} {qos_line}", "${EXTRA}", "$EXTRA", "<your options>", "%(options)s", "@@OPTIONS@@",
     "@OPTIONS@", "%%options%%", "__OPTIONS__"],
)  # fmt: skip
def test_a_line_to_be_filled_in_is_no_command(line: str) -> None:
    found = header(f"#!/bin/bash\n{line}\n#SBATCH -N1\nsrun x\n")
    assert [(directive.name, directive.in_force) for directive in found.directives] == [("nodes", True)]
    assert found.open_because


@pytest.mark.parametrize("line", ["{ date; }", "module load __CUDA__", "{account", "source $ENV"])
def test_a_command_with_a_placeholder_is_one(line: str) -> None:
    found = header(f"#!/bin/bash\n{line}\n#SBATCH -N1\nsrun x\n")
    assert [directive.after_command for directive in found.directives] == [True]


def test_lines_in_here_documents_belong_to_other_scripts() -> None:
    found = directives("#SBATCH -N 1", "cat > x.sbatch <<-'EOF'", "#SBATCH --bad", "\tEOF", "#SBATCH --late")
    assert [(directive.name, directive.in_force) for directive in found] == [("nodes", True), ("late", False)]


def test_template_lines_do_not_end_the_header() -> None:
    assert shown("{% if big %}", "#SBATCH --nodes=8", "{% endif %}", "#SBATCH --requeue") == [
        ("nodes", "8"),
        ("requeue", ""),
    ]


def test_components_of_a_heterogeneous_job() -> None:
    found = header("#!/bin/sh\n#SBATCH -N1\n#SBATCH hetjob\n#SBATCH -N4\n")
    assert [len(component) for component in found.components] == [1, 1]
    assert [directive.in_force for directive in found.directives] == [True, False]
    assert not any(directive.problem for directive in found.directives)


def test_the_header_is_where_a_directive_would_be_added() -> None:
    found = header("#!/bin/bash\n# about\n#SBATCH -N1\n#SBATCH --requeue\n\nsrun x\n").place
    assert found is not None
    assert found.text == "#SBATCH -N1\n#SBATCH --requeue"
    bare = header("#!/bin/bash\nsrun x\n").place
    assert bare is not None
    assert bare.text == "#!/bin/bash"


PIECES = st.sampled_from(
    [
        "#SBATCH ",
        "# SBATCH ",
        "\n",
        "--nodes=",
        "-N",
        " ",
        "'",
        '"',
        "\\",
        "4",
        "#",
        "<<EOF\n",
        "EOF\n",
        "hetjob",
        "\r\n",
    ]
)


@given(st.lists(PIECES | st.text(max_size=5), max_size=40).map("".join))
def test_any_text_is_read(text: str) -> None:
    found = header(text)
    assert found.place is not None
    for directive in found.directives:
        assert directive.line.span.start <= directive.place.span.start <= directive.place.span.end
        assert directive.place.span.end <= directive.line.span.end
        assert directive.in_force or directive.problem or len(found.components) > 1
