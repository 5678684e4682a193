"""Programs that start another program: how their own words end and the other's begin.

Rows are taken from the programs' own manual pages (GNU coreutils, findutils and parallel, util-linux, tini, dumb-init,
numactl, Nsight Systems, conda, uv …). An option that is not in `values` takes no word of its own; `--option=value`
never does.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct


class Wrapper(Struct, frozen=True):
    """One program that runs the command in its arguments.

    `subcommand`: the words that must follow its name. `values`: options that take the next word. `positionals`: words
    of its own before the command. `assignments`: `NAME=value` words before the command go to its environment.
    `opens`: why the program may set variables that nobody sees; empty where it does not.
    """

    names: tuple[str, ...]
    subcommand: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    positionals: int = 0
    assignments: bool = False
    opens: str = ""
    refuses: tuple[str, ...] = ()
    """Options with which it runs nothing (`command -v`)."""


WRAPPERS: Final = (
    Wrapper(("env",), values=("-u", "--unset", "-C", "--chdir"), assignments=True, refuses=("-S", "--split-string")),
    Wrapper(("exec",), values=("-a",)),
    Wrapper(("command", "builtin"), refuses=("-v", "-V")),
    Wrapper(("nohup", "setsid", "catchsegv", "unbuffer", "firejail")),
    Wrapper(("tini", "tini-static", "docker-init", "catatonit"), values=("-p", "-e")),
    Wrapper(("dumb-init",), values=("-r", "--rewrite")),
    Wrapper(("timeout", "gtimeout"), values=("-k", "--kill-after", "-s", "--signal"), positionals=1),
    Wrapper(
        ("numactl",),
        values=(
            *("-i", "--interleave", "-N", "--cpunodebind", "-C", "--physcpubind", "-m", "--membind"),
            *("-p", "--preferred", "-P", "--preferred-many", "-w", "--weighted-interleave", "--cpubind"),
        ),
    ),
    Wrapper(
        ("nsys",),
        subcommand=("profile",),
        values=(
            *("-o", "--output", "-t", "--trace", "-s", "--sample", "-c", "--capture-range", "-d", "--duration"),
            *(
                "-y",
                "--delay",
                "-e",
                "--env-var",
                "-b",
                "--backtrace",
                "-f",
                "--force-overwrite",
                "-w",
                "--show-output",
            ),
            *("-x", "--stop-on-exit", "-n", "--inherit-environment", "-p", "--nvtx-capture", "-k", "--kill"),
            *("--capture-range-end", "--cuda-graph-trace", "--cuda-memory-usage", "--cudabacktrace", "--cpuctxsw"),
            *(
                "--gpu-metrics-device",
                "--gpu-metrics-devices",
                "--gpu-metrics-frequency",
                "--nic-metrics",
                "--session-new",
            ),
            *("--export", "--stats", "--wait", "--trace-fork-before-exec", "--sampling-period", "--python-sampling"),
            *("--pytorch", "--gpuctxsw", "--mpi-impl", "--ftrace", "--start-agent", "--run-as"),
        ),
    ),
    Wrapper(
        ("ncu", "nv-nsight-cu-cli"),
        values=(
            *("-o", "--export", "-k", "--kernel-name", "-c", "--launch-count", "-s", "--launch-skip", "--set"),
            *("--section", "--metrics", "--target-processes", "--log-file", "--replay-mode", "--clock-control"),
        ),
    ),
    Wrapper(("nvprof",), values=("-o", "--export-profile", "--log-file")),
    Wrapper(("stdbuf",), values=("-i", "--input", "-o", "--output", "-e", "--error")),
    Wrapper(("nice",), values=("-n", "--adjustment")),
    Wrapper(("ionice",), values=("-c", "--class", "-n", "--classdata")),
    Wrapper(("chrt",), values=("-T", "-P", "-D"), positionals=1),
    Wrapper(("taskset",), positionals=1),
    Wrapper(("hwloc-bind",)),
    Wrapper(("prlimit",), values=("-o", "--output")),
    Wrapper(
        ("sudo", "doas"),
        values=(
            *("-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "--close-from", "-D", "--chdir"),
            *("-R", "--chroot", "-T", "--command-timeout", "-U", "--other-user", "-r", "--role", "-t", "--type"),
        ),
        assignments=True,
        refuses=("-l", "-v", "-K"),
    ),
    Wrapper(("time",), values=("-f", "--format", "-o", "--output")),
    Wrapper(("gosu", "su-exec", "s6-setuidgid", "setuidgid"), positionals=1),
    Wrapper(("setpriv",), values=("--reuid", "--regid", "--groups", "--inh-caps", "--ambient-caps", "--bounding-set")),
    Wrapper(("capsh",), refuses=("--print",)),
    Wrapper(("chroot",), positionals=1),
    Wrapper(
        # CSC's and Aalto University's: the command runs in the container that a loaded module names
        ("apptainer_wrapper", "singularity_wrapper"),
        subcommand=("exec",),
        opens="the container that a loaded module names may set variables",
    ),
    Wrapper(("nsenter",), values=("-t", "--target", "-S", "--setuid", "-G", "--setgid")),
    Wrapper(("unshare",), values=("-S", "--setuid", "-G", "--setgid", "-R", "--root", "--propagation")),
    Wrapper(
        ("flock",),
        values=("-w", "--wait", "--timeout", "-E", "--conflict-exit-code"),
        positionals=1,
        refuses=("-c", "--command"),
    ),
    Wrapper(
        ("conda", "mamba", "micromamba"),
        subcommand=("run",),
        values=("-n", "--name", "-p", "--prefix", "--cwd", "-r", "--root-prefix", "-a", "--attach"),
    ),
    Wrapper(
        ("poetry", "pipenv", "hatch", "rye", "pdm"), subcommand=("run",), values=("-e", "--env", "-p", "--project")
    ),
    Wrapper(
        ("uv",),
        subcommand=("run",),
        values=(
            *(
                "--with",
                "-w",
                "--with-editable",
                "--with-requirements",
                "--extra",
                "--group",
                "--no-group",
                "--only-group",
            ),
            *("-p", "--python", "--project", "--directory", "--package", "--env-file", "--index", "--default-index"),
            *("--index-url", "-i", "--extra-index-url", "-f", "--find-links", "--cache-dir", "--config-file"),
            *(
                "--index-strategy",
                "--resolution",
                "--prerelease",
                "--link-mode",
                "-P",
                "--upgrade-package",
                "--no-extra",
            ),
        ),
    ),
    Wrapper(("pixi",), subcommand=("run",), values=("-e", "--environment", "--manifest-path", "-m")),
    Wrapper(
        ("xvfb-run",),
        values=("-n", "--server-num", "-s", "--server-args", "-e", "--error-file", "-f", "--auth-file", "-w", "--wait"),
    ),
    Wrapper(("strace", "ltrace"), values=("-o", "-e", "-s", "-u", "-E", "-a", "-S", "-b", "-I", "-P")),
    Wrapper(("gdb",), subcommand=("--args",)),
    Wrapper(
        ("py-spy",),
        subcommand=("record",),
        values=("-o", "--output", "-f", "--format", "-r", "--rate", "-d", "--duration"),
    ),
    Wrapper(
        # Helmholtz AI's: it measures the energy of a Python script (perun/api/cli.py)
        ("perun",),
        subcommand=("monitor",),
        values=(
            *("-c", "--configuration", "-l", "--log_lvl", "-n", "--app_name", "--name", "-i", "--run_id", "-f"),
            *("--format", "--data_out", "--sampling_rate", "--sampling_period", "--power_overhead", "--pue"),
            *("--price_factor", "--price_unit", "--emission_factor", "--emissions_factor", "--rounds"),
            "--warmup_rounds",
        ),
    ),
    Wrapper(("perf",), subcommand=("stat",), values=("-e", "--event", "-o", "--output", "-I", "-r", "-x")),
    Wrapper(
        ("perf",),
        subcommand=("record",),
        values=("-e", "--event", "-o", "--output", "-F", "--freq", "-c", "--call-graph"),
    ),
    Wrapper(
        ("xargs",),
        values=(
            *("-I", "-n", "--max-args", "-P", "--max-procs", "-L", "--max-lines", "-d", "--delimiter", "-s"),
            *("--max-chars", "-a", "--arg-file", "-E", "--process-slot-var"),
        ),
    ),
    Wrapper(
        ("parallel",),
        values=(
            *("-j", "--jobs", "-P", "--max-procs", "-n", "--max-args", "-N", "--max-replace-args", "-L", "--max-lines"),
            *("-I", "-a", "--arg-file", "-C", "--colsep", "-d", "--delimiter", "--joblog", "--delay", "--timeout"),
            *("--retries", "-S", "--sshlogin", "--slf", "--tmpdir", "--results", "--halt", "--memfree", "--load"),
            *("--nice", "--workdir", "--wd", "--env", "--tagstring", "--block"),
        ),
    ),
    Wrapper(("with-contenv",)),
    Wrapper(("systemd-inhibit",), values=()),
    Wrapper(("cgexec",), values=("-g",)),
    Wrapper(
        ("nvidia_entrypoint.sh",),
        opens="nvidia_entrypoint.sh of the image runs its entrypoint.d scripts first",
    ),
)
"""Every wrapper that is peeled. Where a name stands in several rows, their subcommands tell them apart."""

SHELLS: Final = frozenset(["sh", "bash", "dash", "zsh", "ash", "ksh", "mksh", "rbash"])
"""Programs that read a shell script."""

SHELL_VALUES: Final = frozenset(["-O", "+O", "--rcfile", "--init-file"])
"""Options of shells that take a word; `-o` and `-c` are read by themselves."""
