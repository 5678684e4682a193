"""Facts from Python programs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.launch.python import Duration, PythonFacts, read_python
from kube_gaplint.model.command import Word
from kube_gaplint.model.environment import Environment
from kube_gaplint.model.program_text import ProgramText
from kube_gaplint.model.setting import Absent, Origin, Set, Setting, Unknown
from kube_gaplint.model.training import Options, OptionValue
from kube_gaplint.text.source import Place, Source, Span, WholeText


def read(text: str, options: Options | None = None, environment: Environment | None = None) -> PythonFacts:
    return read_python(WholeText(Source("train.py", textwrap.dedent(text))), options, environment)


class Modules:
    """A program with modules, all of which are seen."""

    open_because = ""

    def __init__(self, *texts: str) -> None:
        self.all = texts

    def texts(self) -> Iterator[str]:
        return iter(self.all)


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        (["p.add_argument('--save-every', type=int, default=50)"], 50),
        (["p.add_argument('-s', '--save_every')"], None),
        (["p.add_argument('save_every')"], Unknown),  # a positional argument is given somewhere
        (["p.add_argument('--save-every', default=5)", "p.add_argument('--save-every', default=6)"], Unknown),
        (["p.add_argument('--save-every', default=5)", "p.add_argument('--save-every', default=5)"], 5),
        (["p.add_argument('--other')"], Unknown),
        ([], Unknown),
    ],
)
def test_options_that_modules_declare(modules: list[str], expected: object) -> None:
    text = "import torch\nargs = parser().parse_args()\ntrainer.fit(model, ckpt_path=args.save_every)\n"
    facts = read_python(WholeText(Source("train.py", text)), Options((), (), HOME), None, whole(text, *modules))
    (fit,) = facts.of("fit")
    assert value(fit.get("ckpt_path")) == expected


def whole(*texts: str) -> ProgramText:
    return ProgramText(lambda: Modules(*texts))


def value(setting: Setting[Any]) -> Any:
    """The value, `Absent` or `Unknown`."""
    return setting.value if isinstance(setting, Set) else type(setting)


HOME = Origin(Place(Source("job.yaml", ""), Span(0, 0)))


def command_line(**given: str) -> Options:
    place = HOME.place
    found = tuple(
        OptionValue(name.replace("_", "-"), Set(text, HOME), Word((name,), place)) for name, text in given.items()
    )
    return Options(found, (), HOME)


@pytest.mark.parametrize(
    ("call", "seconds"),
    [
        ("dist.init_process_group('nccl')", Absent),
        ("dist.init_process_group('nccl', timeout=timedelta(minutes=30))", 1800),
        ("dist.init_process_group('nccl', None, timedelta(seconds=5400))", 5400),
        ("dist.init_process_group(backend='nccl', timeout=timedelta(0, 7200))", 7200),
        ("dist.init_process_group(timeout=datetime.timedelta(hours=2, minutes=2 * 15))", 9000),
        ("dist.init_process_group(timeout=dt.timedelta(days=1))", 86400),
        ("dist.init_process_group(timeout=timedelta(minutes=MINUTES))", 2700),
        ("dist.init_process_group(timeout=LIMIT)", 600),
        ("dist.init_process_group(timeout=LIMIT * 2)", 1200),
        ("init_process_group(timeout=timedelta(milliseconds=1_500))", 1.5),
        ("torch.distributed.init_process_group(timeout=timedelta(seconds=1e3))", 1000),
        ("dist.init_process_group(timeout=timedelta(seconds=args.timeout))", Unknown),
        ("dist.init_process_group(timeout=timedelta(seconds=int(os.environ['T'])))", Unknown),
        ("dist.init_process_group(timeout=CHANGED)", Unknown),
        ("dist.init_process_group(timeout=compute())", Unknown),
        ("dist.init_process_group('nccl', **settings)", Unknown),
        ("dist.init_process_group('nccl', timeout=None)", Absent),
        ("dist.init_process_group(timeout=timedelta(seconds=10**9000))", Unknown),
        ("dist.init_process_group(timeout=timedelta(seconds=1/0))", Unknown),
        ("dist.init_process_group(timeout=timedelta(years=1))", Unknown),
    ],
)
def test_timeout_of_the_process_group(call: str, seconds: object) -> None:
    facts = read(
        f"""\
        import datetime, os
        import datetime as dt
        import torch
        import torch.distributed as dist
        from datetime import timedelta
        from torch.distributed import init_process_group

        MINUTES = 45
        LIMIT = timedelta(minutes=10)
        CHANGED = timedelta(minutes=10)
        CHANGED = timedelta(minutes=20)

        def setup(settings):
            {call}
        """
    )
    (found,) = facts.process_groups
    assert value(found.timeout) == seconds
    assert found.name == "torch.distributed.init_process_group"
    assert found.place.text == call


def test_the_place_of_an_argument() -> None:
    facts = read("import torch.distributed as d\n# é ✓ 𝒳\nd.init_process_group('nccl', timeout=  None)  # é\n")
    (found,) = facts.process_groups
    assert found.arguments["timeout"].place.text == "timeout=  None"
    assert found.arguments["timeout"].place.start.line == 3
    assert value(found.get("backend")) == "nccl"


def test_values_from_the_command_line_and_the_environment() -> None:
    program = """\
        import argparse, os, torch.distributed as dist
        from datetime import timedelta
        parser = argparse.ArgumentParser()
        parser.add_argument("--timeout-minutes", "-t", type=int, default=30)
        parser.add_argument("--out", dest="output", default="/ckpt")
        parser.add_argument("--resume", action="store_true")
        config = parser.parse_args()
        dist.init_process_group("nccl", timeout=timedelta(minutes=config.timeout_minutes))
        torch.save({}, os.path.join(config.output, os.environ.get("NAME", "last") + ".pt"))
        """
    facts = read(program)
    assert [option.names for option in facts.options] == [("--timeout-minutes", "-t"), ("--out",), ("--resume",)]
    assert [value(option.default) for option in facts.options] == [30, "/ckpt", False]
    assert [option.destination for option in facts.options] == ["timeout_minutes", "output", "resume"]
    assert value(facts.process_groups[0].timeout) is Unknown
    assert facts.reads == {"NAME"}

    environment = Environment(HOME, {"NAME": Set("first", HOME)})
    facts = read(program, command_line(), environment)
    assert value(facts.process_groups[0].timeout) == 1800
    assert value(facts.saves[0].path) == "/ckpt/first.pt"

    facts = read(program, command_line(timeout_minutes="5", out="/data"), Environment(HOME))
    assert value(facts.process_groups[0].timeout) == 300
    assert value(facts.saves[0].path) == "/data/last.pt"

    unseen = Options((), (), HOME, open_because="a variable may hold more options")
    facts = read(program, unseen, Environment(HOME, open_because="a file is sourced"))
    assert value(facts.process_groups[0].timeout) is Unknown
    assert value(facts.saves[0].path) is Unknown


def test_variables_that_are_set() -> None:
    facts = read(
        """\
        import os
        from os import environ
        os.environ["NCCL_DEBUG"] = "INFO"
        os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
        environ["A"] = "b" + "c"
        os.environ["RANK"] = str(rank())
        os.environ.update({"X": "1"}, Y="2")
        if True:
            os.environ["COND"] = "1"
        if __name__ == "__main__":
            os.environ["MAIN"] = "1"
        for i in range(3):
            os.environ["LOOP"] = "1"
        os.environ["NUMBER"] = 1
        print(os.getenv("SEEN"), os.environ["ALSO"], environ.get("AND"))
        """
    )
    found = {change.name: (value(change.value), change.only_if_unset, change.context) for change in facts.changes}
    assert found == {
        "NCCL_DEBUG": ("INFO", False, "always"),
        "TORCH_NCCL_ASYNC_ERROR_HANDLING": ("1", True, "always"),
        "A": ("bc", False, "always"),
        "RANK": (Unknown, False, "always"),
        "X": ("1", False, "always"),
        "Y": ("2", False, "always"),
        "COND": ("1", False, "conditional"),
        "MAIN": ("1", False, "always"),
        "LOOP": ("1", False, "repeated"),
        "NUMBER": (Unknown, False, "always"),
    }
    assert facts.reads == {"SEEN", "ALSO", "AND"}
    assert facts.changes[0].place.text == 'os.environ["NCCL_DEBUG"] = "INFO"'


def test_reads_of_the_environment() -> None:
    facts = read(
        """\
        import os
        seconds = int(os.environ.setdefault("USED", "5"))
        os.environ.setdefault("GIVEN", "5")
        del os.environ["REMOVED"]
        env_int("HELPER", 900)
        utils.get_from_env("OTHER")
        set_env("SET", "1")
        env_int(name)
        """
    )
    assert facts.reads == {"USED", "HELPER", "OTHER"}


def test_training_arguments() -> None:
    facts = read(
        """\
        from transformers import Trainer, TrainingArguments
        from trl import SFTConfig
        args = TrainingArguments("out", save_strategy="steps", save_steps=0.1, save_total_limit=2, ddp_timeout=5400)
        more = SFTConfig(output_dir="/ckpt/x", **extra)
        trainer = Trainer(model=model, args=args)
        trainer.train(resume_from_checkpoint=True)
        model.train()
        """
    )
    first, second = facts.of("hf-arguments")
    assert value(first.get("output_dir")) == "out"
    assert value(first.get("save_steps")) == 0.1
    assert value(first.get("max_steps")) is Absent
    assert value(first.timeout) == 5400
    assert value(second.get("save_steps")) is Unknown
    assert value(second.get("output_dir")) == "/ckpt/x"
    assert [call.name for call in facts.of("hf-trainer")] == ["transformers.Trainer"]
    assert [value(call.get("resume_from_checkpoint")) for call in facts.of("train")] == [True]


def test_lightning() -> None:
    facts = read(
        """\
        import lightning.pytorch as pl
        from lightning.pytorch.callbacks import ModelCheckpoint
        from lightning.pytorch.strategies import DDPStrategy
        from datetime import timedelta
        keep = ModelCheckpoint("/ckpt", every_n_train_steps=500, save_top_k=-1)
        trainer = pl.Trainer(max_steps=10_000, callbacks=[keep], strategy=DDPStrategy(timeout=timedelta(minutes=5)))
        trainer.fit(model, ckpt_path="last")
        """
    )
    (checkpoint,) = facts.of("lightning-checkpoint")
    assert value(checkpoint.get("dirpath")) == "/ckpt"
    assert value(checkpoint.get("save_top_k")) == -1
    assert value(facts.of("lightning-trainer")[0].get("max_steps")) == 10_000
    assert value(facts.of("lightning-strategy")[0].timeout) == 300
    assert value(facts.of("fit")[0].get("ckpt_path")) == "last"
    assert facts.imports_from("lightning", "pytorch_lightning") is not None


def test_trainers_of_the_same_name() -> None:
    assert [call.key for call in read("from composer import Trainer\nTrainer(dist_timeout=600)").calls] == [
        "composer-trainer"
    ]
    assert value(read("from composer import Trainer\nTrainer(dist_timeout=600)").calls[0].timeout) == 600
    assert [call.key for call in read("import transformers as t\nt.Trainer()").calls] == ["hf-trainer"]
    assert read("from mylib import Trainer\nTrainer()").calls == []
    assert read("class Trainer: pass\nTrainer()").calls == []


def test_ray() -> None:
    facts = read(
        """\
        from ray.train import RunConfig, FailureConfig, CheckpointConfig, ScalingConfig
        from ray.train.torch import TorchTrainer, TorchConfig
        run = RunConfig(storage_path="s3://b/x", failure_config=FailureConfig(3),
                        checkpoint_config=CheckpointConfig(num_to_keep=2))
        TorchTrainer(loop, run_config=run, scaling_config=ScalingConfig(num_workers=16, use_gpu=True),
                     torch_config=TorchConfig(timeout_s=900))
        """
    )
    assert value(facts.of("ray-failure")[0].get("max_failures")) == 3
    assert value(facts.of("ray-checkpoint")[0].get("num_to_keep")) == 2
    assert value(facts.of("ray-run")[0].get("storage_path")) == "s3://b/x"
    assert value(facts.of("ray-scaling")[0].get("num_workers")) == 16
    assert value(facts.of("ray-torch")[0].timeout) == 900
    assert len(facts.of("ray-trainer")) == 1


def test_accelerate_and_deepspeed() -> None:
    facts = read(
        """\
        from accelerate import Accelerator, InitProcessGroupKwargs
        from datetime import timedelta
        import deepspeed
        deepspeed.init_distributed(timeout=timedelta(minutes=60))
        accelerator = Accelerator(kwargs_handlers=[InitProcessGroupKwargs(timeout=timedelta(seconds=3000))])
        accelerator.save_state("/ckpt/step")
        engine.save_checkpoint(save_dir="/ds", tag="x")
        """
    )
    assert [value(seconds) for _, seconds in facts.timeouts()] == [3600, 3000]
    assert [value(use.path) for use in facts.saves] == ["/ckpt/step", "/ds"]


@pytest.mark.parametrize(
    ("call", "path", "folder"),
    [
        ("torch.save(state, '/tmp/a.pt')", "/tmp/a.pt", "/tmp/a.pt"),
        ("torch.save(state, f'/tmp/run/step_{step}.pt')", Unknown, "/tmp/run"),
        ("torch.save(state, f'{OUT}/step_{step}.pt')", Unknown, "/ckpt"),
        ("torch.save(state, OUT + '/' + name)", Unknown, "/ckpt"),
        ("torch.save(state, os.path.join(OUT, 'last.pt'))", "/ckpt/last.pt", "/ckpt/last.pt"),
        ("torch.save(state, os.path.join(OUT, f'{step}.pt'))", Unknown, "/ckpt"),
        ("torch.save(state, Path('/a') / 'b' / 'c.pt')", "/a/b/c.pt", "/a/b/c.pt"),
        ("torch.save(state, f=OUT)", "/ckpt", "/ckpt"),
        ("torch.save(state, args.out)", Unknown, Unknown),
        ("torch.save(state, where())", Unknown, Unknown),
        ("dcp.save(state, checkpoint_id='/dcp/1')", "/dcp/1", "/dcp/1"),
        ("dcp.async_save(state, checkpoint_id='/dcp/1')", "/dcp/1", "/dcp/1"),
        ("model.save_pretrained('out')", "out", "out"),
    ],
)
def test_where_it_saves(call: str, path: object, folder: object) -> None:
    facts = read(
        f"""\
        import os, torch
        from pathlib import Path
        import torch.distributed.checkpoint as dcp
        OUT = "/ckpt"
        def save(state, step, name, args):
            {call}
        """
    )
    (use,) = facts.saves
    assert value(use.path) == path
    assert value(use.folder) == folder


def test_saves_of_other_things() -> None:
    facts = read("import torch, numpy as np\nnp.save('x', y)\nimage.save('a.png')\nplt.savefig('b')\n")
    assert facts.saves == []


@pytest.mark.parametrize(
    ("program", "once"),
    [
        ("for e in range(9):\n    step()\ntorch.save(m, 'm.pt')", True),
        ("for e in range(9):\n    step()\n    torch.save(m, 'm.pt')", False),
        ("torch.save(m, 'm.pt')\nfor e in range(9):\n    step()", False),
        ("while going():\n    step()\nif rank == 0:\n    torch.save(m, 'm.pt')", True),
        ("def main():\n    for e in x:\n        step()\n    torch.save(m, 'm.pt')\nmain()", True),
        ("def main():\n    for e in x:\n        step()\n    torch.save(m, 'm.pt')", True),
        ("def fit():\n    for b in x:\n        step()\n    torch.save(m, 'm.pt')", False),
        ("def fit():\n    for b in x:\n        step()\n    torch.save(m, 'm.pt')\nfit()", True),
        ("def fit():\n    for b in x:\n        step()\n    torch.save(m, 'm.pt')\nfor e in y:\n    fit()", False),
        ("def save():\n    torch.save(m, 'm.pt')\nfor e in x:\n    step()\nsave()", True),
        ("def save():\n    torch.save(m, 'm.pt')\nfor e in x:\n    step()\n    save()", False),
        ("def save():\n    torch.save(m, 'm.pt')\nfor e in x:\n    step(save)\nsave()", False),
        ("class C:\n    def on_end(self):\n        torch.save(m, 'm.pt')\nfor e in x:\n    step()", False),
        ("for e in x:\n    step()\ntorch.save(m, 'm.pt')\nfor e in x:\n    torch.save(m, f'{e}.pt')", False),
        ("def f():\n    f()\n    torch.save(m, 'm.pt')\nf()", False),
        ("for e in x:\n    step()", False),
    ],
)
def test_whether_it_saves_only_when_the_training_is_over(program: str, once: bool) -> None:
    assert read(f"import torch\n{program}\n").saves_once is once


@pytest.mark.parametrize(
    ("program", "once"),
    [
        ("import xgboost\nm = xgboost.XGBClassifier().fit(x, y)\nm.save_model('m.json')", True),
        ("import lightgbm\ndef main():\n    m = lightgbm.train(p, d)\n    m.save_model('m.txt')\nmain()", True),
        ("import xgboost\nm = xgboost.train(p, d, callbacks=[c])\nm.save_model('m.json')", False),
        ("import xgboost\nm.save_model('m.json')\nm.fit(x, y)", False),
        ("import xgboost, torch\nm.fit(x, y)\ntorch.save(m, 'm.pt')", False),
    ],
)
def test_a_library_may_fit_at_once(program: str, once: bool) -> None:
    assert read(f"{program}\n").saves_once is once


def test_signals() -> None:
    facts = read(
        """\
        import signal
        signal.signal(signal.SIGTERM, handler)
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        loop.add_signal_handler(signal.SIGINT, stop)
        signal.pause()
        """
    )
    assert [(found.signal, found.ignored) for found in facts.signals] == [
        ("SIGTERM", False), ("SIGUSR1", True), ("SIGINT", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("1_000", 1000), ("0x10", 16), ("-3", -3), ("2 ** 10", 1024), ("7 // 2", 3), ("1 << 20", 1 << 20),
        ("'a' 'b'", "ab"), ("r'a\\b'", r"a\b"), (r"'a\tb\x41'", "a\tbA"), ("f'{1 + 1}x'", "2x"),
        ("f'{{x}}'", "{x}"), ("True", True), ("None", None), ("(1, 'a')", (1, "a")), ("[1]", (1,)),
        ("float('1.5')", 1.5), ("str(5)", "5"), ("timedelta(seconds=1)", Duration(1)), ("'' or 'x'", "x"),
        ("b'x'", Unknown), ("1 if x else 2", Unknown), ("lambda: 1", Unknown), ("x.y", Unknown), ("10 ** 100", Unknown),
        ("'a' * 10", Unknown), ("f'{x!r}'", Unknown), ("1j", Unknown), ("not 1", Unknown),
    ],
)  # fmt: skip
def test_folding(expression: str, expected: object) -> None:
    facts = read(f"from transformers import TrainingArguments\nTrainingArguments(x={expression})\n")
    assert value(facts.of("hf-arguments")[0].get("x")) == expected


@pytest.mark.parametrize(
    "binding",
    [
        "if x:\n    LIMIT = 5\n",
        "LIMIT = 5\nLIMIT += 1\n",
        "LIMIT = 5\nfor LIMIT in y: pass\n",
        "LIMIT = 5\ndef f(LIMIT=3): pass\n",
        "LIMIT = 5\nwith open(x) as LIMIT: pass\n",
        "LIMIT = 5\n(LIMIT := 3)\n",
        "class A:\n    LIMIT = 5\n",
        "LIMIT = LIMIT\n",
    ],
)
def test_names_that_are_no_constants(binding: str) -> None:
    facts = read(f"from transformers import TrainingArguments\n{binding}TrainingArguments(x=LIMIT)\n")
    assert value(facts.of("hf-arguments")[0].get("x")) is Unknown


def test_a_program_that_is_broken_is_read_as_far_as_it_goes() -> None:
    facts = read("import torch.distributed as dist\ndist.init_process_group('nccl')\ndef broken(:\n    ]]\n")
    assert facts.problem
    assert len(facts.process_groups) == 1


@pytest.mark.parametrize(
    ("test", "names"),
    [
        ("args.resume", {"resume"}), ("(args.resume)", {"resume"}), ("resume is not None", {"resume"}),
        ("args.resume and rank == 0", {"resume"}), ("args.resume or found", set()), ("not args.resume", set()),
        ("args.resume is None", set()), ("found(args.resume)", set()),
        ("(" * 9_000 + "args.resume" + ")" * 9_000, None),
    ],
)  # fmt: skip
def test_under_which_option_it_restores(test: str, names: set[str] | None) -> None:
    program = f"""
        def load():
            optimizer.load_state_dict(torch.load("latest.pt"))

        def main():
            if {test}:
                load()
            torch.save(state, "latest.pt")
    """
    found = read(textwrap.dedent(program)).restores_if
    assert names is None or found == names


def test_a_state_that_is_restored_at_two_places() -> None:
    program = "if args.resume:\n    load_checkpoint()\nif found:\n    optim.load_state_dict(x)\ntorch.save(x, 'y')\n"
    assert read(program).restores_if == frozenset()


@pytest.mark.parametrize(
    "hostile",
    [
        "(" * 12_500, "f(a," * 5_000, "[{(" * 5_000, "x = " * 5_000, "'''" * 9_999, "lambda x:" * 5_000, "\0" * 999,
        "a." * 7_500 + "save(x)", "-" * 12_500 + "1", "if x:\n" * 5_000, "f'{" * 5_000, "1+" * 5_000 + "1",
        "torch.save(x," * 2_500, "os.environ[" * 2_500,
    ],
)  # fmt: skip
def test_hostile_programs(hostile: str) -> None:
    read_python(WholeText(Source("x.py", hostile)))
    read_python(WholeText(Source("x.py", f"import torch\ntorch.save(x, {hostile})\n")))


def test_a_program_that_is_too_long_is_left_alone() -> None:
    assert "characters" in read("x = 1\n" * 100_000).problem


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    read(text)


PIECES = st.sampled_from(
    [
        "import torch\n", "dist.init_process_group(", "timeout=", "timedelta(", "minutes=", "5", ")", ",",
        "os.environ[", "'X'", "]", "=", "\n", "    ", "def f(a):\n", "if x:\n", "args.", "x", "f'{", "}'",
        "é𝒳", "torch.save(", "**k", "*", "#", "\\",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join))
def test_places_lie_in_the_text(text: str) -> None:
    facts = read_python(WholeText(Source("x.py", text)))
    for call in facts.calls:
        assert 0 <= call.place.span.start <= call.place.span.end <= len(text)
        assert all(argument.place.text.strip() for argument in call.arguments.values())
