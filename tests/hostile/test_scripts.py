"""Shell and Python that mean harm to whoever reads them, in batch scripts and in manifests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from running import lint_file


class Row(NamedTuple):
    """A script, and the code that must come out of a batch script that holds it."""

    name: str
    make: Callable[[], str]
    code: str = ""
    word: str = ""


def doubling(times: int) -> str:
    return "a=xxxxxxxxxx\n" + 'a="$a$a"\n' * times + 'python train.py --name "$a"\n'


ROWS = [
    Row("a-function-that-calls-itself", lambda: "f() { f; f; }\nf\n"),
    Row("functions-that-call-one-another", lambda: "f() { g; g; }\ng() { f; f; }\nf\n"),
    Row("a-fork-bomb", lambda: ":(){ :|:& };:\n"),
    Row("functions-that-double", lambda: "f0() { echo x; }\n" + "".join(f"f{n}() {{ f{n - 1}; f{n - 1}; }}\n" for n in range(1, 60)) + "f59\n"),
    Row("a-script-that-sources-itself", lambda: "source job.sbatch\n. ./job.sbatch\nbash job.sbatch\n"),
    Row("eval-of-itself", lambda: "a='eval \"$a\"'\neval \"$a\"\n"),
    Row("eval-that-doubles", lambda: "a='eval \"$a; $a\"'\neval \"$a\"\n"),
    Row("text-that-doubles", lambda: doubling(80)),
    Row("an-array-that-doubles", lambda: "a=(x y)\n" + 'a=("${a[@]}" "${a[@]}")\n' * 60 + 'echo "${a[@]}"\n'),
    Row("braces-that-multiply", lambda: "echo " + "{a,b,c,d,e,f,g,h,i,j}" * 40 + "\n"),
    Row("a-series-without-end", lambda: "for i in {1..1000000000000}; do echo $i; done\necho {0..9999999999}\n"),
    Row("a-loop-without-end", lambda: "while :; do while :; do while :; do a=x$a; done; done; done\n"),
    Row("loops-in-loops", lambda: "for a in {1..900}; do " * 60 + "a=$a$a" + "; done" * 60 + "\n"),
    Row("a-count-without-end", lambda: "for ((i=0;i<10**18;i++)); do a+=$i; done\n"),
    Row("a-power", lambda: "a=$((9**9**9**9))\nb=$((2**1000000000))\nc=$((1<<10000000000))\necho $a $b $c\n"),
    Row("an-arithmetic-ring", lambda: "a=b b=a\necho $((a + b))\n"),
    Row("nested-arithmetic", lambda: "echo $((" + "(" * 50_000 + "1" + ")" * 50_000 + "))\n"),
    Row("nested-substitutions", lambda: "echo " + "$(echo " * 50_000 + ")" * 50_000 + "\n"),
    Row("nested-substitutions-open", lambda: "echo " + "$(" * 200_000 + "\n"),
    Row("nested-quotes", lambda: 'echo "' + '$(echo "' * 20_000 + "\n"),
    Row("nested-backticks", lambda: "echo " + "`echo \\" * 50_000 + "\n"),
    Row("nested-groups", lambda: "{ " * 50_000 + "x; " + "} ;" * 50_000 + "\n"),
    Row("nested-subshells", lambda: "( " * 50_000 + "x" + ")" * 50_000 + "\n"),
    Row("nested-ifs", lambda: "if x; then\n" * 20_000 + "fi\n" * 20_000),
    Row("elifs", lambda: "if x; then a\n" + "elif x; then b\n" * 50_000 + "fi\n"),
    Row("nested-cases", lambda: "case x in x) " * 20_000 + "esac\n" * 20_000),
    Row("a-case-of-many", lambda: "case $x in\n" + "".join(f"a{n}) b=$b{n} ;;\n" for n in range(30_000)) + "esac\n"),
    Row("nested-parameters", lambda: "echo " + "${a:-" * 50_000 + "}" * 50_000 + "\n"),
    Row("a-chain", lambda: "a && " * 200_000 + "b\n"),
    Row("a-pipe", lambda: "a | " * 200_000 + "b\n"),
    Row("semicolons", lambda: ";" * 500_000 + "\n"),
    Row("many-commands", lambda: "echo x\n" * 200_000, ""),
    Row("many-words", lambda: "echo " + "x " * 500_000 + "\n"),
    Row("many-assignments", lambda: "".join(f"export A{n}=$A{n - 1}x\n" for n in range(60_000))),
    Row("many-branches", lambda: "if a; then x=1; fi\n" * 20_000 + "echo $x\n"),
    Row("many-functions", lambda: "".join(f"f{n}() {{ x; }}\n" for n in range(30_000))),
    Row("many-traps", lambda: "trap 'trap \"$0\" EXIT' EXIT\n" * 20_000),
    Row("many-heredocs", lambda: "".join(f"cat <<E{n}\nx\nE{n}\n" for n in range(30_000))),
    Row("heredocs-never-closed", lambda: "cat " + "<<A " * 50_000 + "\nx\n"),
    Row("a-heredoc-that-runs-itself", lambda: "cat > a.sh <<'E'\nbash a.sh; bash a.sh\nE\nbash a.sh\n"),
    Row("scripts-that-double", lambda: "".join(f"cat > a{n}.sh <<E{n}\nbash a{n - 1}.sh; bash a{n - 1}.sh\nE{n}\n" for n in range(1, 40)) + "bash a39.sh\n" * 20),
    Row("a-quote-never-closed", lambda: "echo '" + "x" * 1_000_000),
    Row("a-line-of-9-mb", lambda: "echo " + "x" * 9_000_000 + "\n", "GAP002"),
    Row("backslashes", lambda: "echo " + "\\" * 500_001 + "\n"),
    Row("continued-lines", lambda: "echo x" + " \\\n" * 300_000 + "\n"),
    Row("dollars", lambda: "echo " + "$" * 500_000 + "\n"),
    Row("globs", lambda: "case " + "a" * 5_000 + " in " + "*a" * 2_000 + "*b) x;; esac\n[[ " + "a" * 3000 + " =~ (a+)+b ]]\n"),
    Row("patterns-in-parameters", lambda: "a=" + "a" * 20_000 + "\necho ${a//*a*a*a*a*b/x} ${a##*a*a*a*b} ${a%%b*b*b}\n"),
    Row("9-mb-of-commands", lambda: "echo x y z\n" * 800_000, "GAP002"),
    Row("directives", lambda: "".join(f"#SBATCH --comment=a{n}\n" for n in range(100_000))),
    Row("directives-with-odd-values", lambda: "#SBATCH --nodes=99999999999999999999999\n#SBATCH --time=" + "9" * 5_000 + "\n#SBATCH --array=0-99999999999%" + "9" * 5000 + "\n#SBATCH --mem=1e999G\n"),
    Row("wrappers", lambda: "nice " * 50_000 + "python train.py\n"),
    Row("shells-in-shells", lambda: "bash -c 'bash -c \"" * 5_000 + "x\n"),
    Row("launchers-in-launchers", lambda: "srun torchrun " * 5_000 + "train.py\n"),
    Row("many-launchers", lambda: "srun torchrun --nproc-per-node=8 train.py\n" * 5_000),
    Row("options", lambda: "torchrun train.py " + "--a=b " * 100_000 + "\n"),
    Row("python-that-grows", lambda: "python - <<'E'\na = 'x' * 10**12\nb = 10**10**10\nc = [0] * 10**12\nd = 1 << 10**12\ntrain(a, b, c, d)\nE\n"),
    Row("python-that-nests", lambda: "python - <<'E'\nx = " + "(" * 50_000 + "1" + ")" * 50_000 + "\nE\n"),
    Row("python-that-adds", lambda: "python - <<'E'\nx = " + "1 + " * 50_000 + "1\nE\n"),
    Row("python-that-refers-in-a-ring", lambda: "python - <<'E'\na = b\nb = a\ninit_process_group(timeout=a)\nE\n"),
    Row("python-that-doubles", lambda: "python - <<'E'\na0 = 'x'\n" + "".join(f"a{n} = a{n - 1} + a{n - 1}\n" for n in range(1, 80)) + "init_process_group(a79)\nE\n"),
    Row("a-long-python-program", lambda: "python - <<'E'\n" + "x = 1\n" * 150_000 + "E\n", "GAP002"),
    Row("wrapped-in-docker", lambda: "docker run -e A=$A " * 3_000 + "x\n"),
]  # fmt: skip

HEADER = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gpus-per-node=8\n#SBATCH --no-requeue\n"


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_batch_script_that_means_harm(row: Row, tmp_path: Path) -> None:
    found = lint_file(tmp_path, HEADER + row.make(), "job.sbatch")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "job.sbatch"], "something was run or written"
    assert found.report["summary"]["workloads"] == 1
    if row.code:
        assert any(row.word in message for message in found.messages(row.code)), found.report["findings"][:3]
