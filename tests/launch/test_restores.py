"""Whether a program surely begins anew: what reads a checkpoint back before it trains, and which options that needs."""

from __future__ import annotations

import pytest

from kube_gaplint.launch.restores import is_off, restoring_ways

TRAIN = "for step in range(9):\n    loss.backward()\n    optimizer.step()\n"


def paths(*texts: str) -> list[set[str]] | None:
    found = restoring_ways(texts)
    return None if found is None else sorted((set(way.options) for way in found), key=sorted)


def test_nothing_reads() -> None:
    assert paths(TRAIN + "torch.save(model.state_dict(), 'a.pt')\n") == []


def test_what_reads_nothing_is_not_parsed() -> None:
    much = "def load_data(path):\n    return path\n" * 20_000
    assert paths(TRAIN + "torch.save(model.state_dict(), 'a.pt')\n", much) == []
    assert paths(TRAIN, much, "def restore_checkpoint(path):\n    pass\nrestore_checkpoint('a')\n") is not None
    assert paths(TRAIN, much + "ways['load_model'](path)\n") is None


def test_a_model_of_a_library_by_its_name_is_none_of_its_own() -> None:
    for call in ("clip.load('ViT-B/16')", "torch.hub.load('facebookresearch/dinov2', name)", "mvp.load(backbone)"):
        assert paths(f"model = {call}\n{TRAIN}") == [], call
    assert paths(f"model = clip.load(checkpoint_path)\n{TRAIN}") == [set()]


def test_a_read_before_training_counts() -> None:
    assert paths("state = torch.load('a.pt')\n" + TRAIN) == [set()]


def test_a_fixed_file_that_it_never_writes_is_what_it_starts_from() -> None:
    for read in ("'base/a.pt'", "f'base/{name}/a.pt'", "os.path.join(home, 'a.pt')", "start"):
        text = f"start = 'base/a.pt'\n# start = 'b.pt'\nmodel.load_state_dict(torch.load({read}))\n{TRAIN}"
        for save in ("'b.pt'", "f'runs/{step}.pt'.lower()", "path", "f'runs/{name}.pt'", "'runs/a.pt'"):
            assert paths(f"{text}torch.save(model, {save})\n") == ([] if save == "'b.pt'" else [set()]), (read, save)
        assert paths(f"{text}torch.save(model, 'b.pt')\nshutil.move('b.pt', path)\n") == [set()], read
        assert paths(f"{text}torch.save(model, 'b.pt')\nmodel.save_pretrained(path)\n") == [set()], read
        assert paths(f"{text}torch.save(model, 'b.pt')\nnp.save('a.npy', losses)\n") == [], read


def test_a_name_that_stands_for_more_than_one_file_is_not_known() -> None:
    for more in ("start = find()\n", "start, last = find()\n", "for start in found:\n    print(start)\n",
                 "start += ending\n", "with find() as start:\n    pass\n"):  # fmt: skip
        assert paths(f"start = 'a.pt'\n{more}torch.load(start)\n{TRAIN}torch.save(model, 'b.pt')\n") == [set()], more
    given = "def read(start):\n    return torch.load(start)\nstart = 'a.pt'\nread(newest)\n"
    assert paths(f"{given}{TRAIN}torch.save(model, 'b.pt')\n") == [set()]


def test_a_name_of_a_function_may_stand_for_several_files() -> None:
    save = (
        "def run(step):\n    path = home / 'last.pt'\n    torch.save(x, path)\n    path = str(home / f's{step}.pt')\n"
    )
    for read, ways in (("'base.pt'", []), ("'last.pt'", [set()]), ("'s7.pt'", [set()])):
        read_first = f"def build():\n    path = Path('~').expanduser() / {read}\n    return torch.load(path)\nbuild()\n"
        assert paths(read_first + TRAIN, f"{save}    torch.save(x, path)\n") == ways, read


def test_a_method_that_nothing_calls_may_be_known_to_a_library() -> None:
    for bases, ways in (("", []), ("(torch.nn.Module)", []), ("(Base, metaclass=ABCMeta)", []), ("(Hooks)", [set()]),
                        ("(lib.Base[int])", [set()])):  # fmt: skip
        text = f"class Own{bases}:\n    def load_old(self, path):\n        self.x = torch.load(path)\n"
        base = "class Base(nn.Module):\n    pass\n" if "lib" not in bases else ""
        assert paths(TRAIN, text, base) == ways, bases
    text = "class Own(nn.Module):\n    def load_state_dict(self, path):\n        self.x = torch.load(path)\n"
    assert paths(TRAIN, text) == [set()]


def test_a_function_of_the_program_called_like_that_of_a_library() -> None:
    for call in ("torch.load('a.pt')", "engine.load('a')"):
        assert paths(f"def load():\n    return {call}\nload()\n{TRAIN}") == [set()], call
        assert paths(f"def load():\n    return {call}\n{TRAIN}load()\n") == [], call


def test_a_read_behind_the_training_does_not() -> None:
    assert paths(TRAIN + "model.load_state_dict(torch.load('best.pt'))\n") == []


def test_a_read_behind_another_loop_counts() -> None:
    assert paths("for name in names:\n    print(name)\ntorch.load('a.pt')\n" + TRAIN) == [set()]


def test_a_read_in_the_other_branch_of_a_training_counts() -> None:
    text = "if fresh:\n" + "".join(f"    {line}\n" for line in TRAIN.splitlines()) + "else:\n    torch.load('a.pt')\n"
    assert paths(text + TRAIN) == [set()]


def test_conditions_are_what_it_needs() -> None:
    for condition in ("args.resume", "args.resume is not None", "args.resume and rank == 0", 'cfg["resume"]',
                      'cfg.get("resume")', "os.path.isfile(args.resume)"):  # fmt: skip
        assert paths(f"if {condition}:\n    torch.load(find())\n{TRAIN}") == [{"resume"}], condition


def test_conditions_that_say_nothing() -> None:
    for condition in ("args.resume or found", "not args.resume", "resume", "args.resume == 'yes'"):
        assert paths(f"if {condition}:\n    torch.load(find())\n{TRAIN}") == [set()], condition


def test_leaving_early_without_it() -> None:
    text = "def restore(args):\n    if not args.resume:\n        return 0\n    return torch.load(find())\n"
    assert paths(f"{text}restore(args)\n{TRAIN}") == [{"resume"}]


def test_the_option_that_is_read_itself_is_needed() -> None:
    assert paths("torch.load(config.load)\n" + TRAIN) == [{"load"}]


def test_functions_of_modules_are_followed_to_their_callers() -> None:
    module = "def bring_back(path):\n    return torch.load(path)\n"
    called = f"from disk import bring_back\nif args.again:\n    bring_back(path)\n{TRAIN}"
    assert paths(called, module) == [{"again"}]
    assert paths(f"from disk import bring_back\n{TRAIN}bring_back(path)\n", module) == []
    assert paths(TRAIN, module) == []
    assert paths(f"from disk import bring_back\nuse(bring_back)\n{TRAIN}", module) == [set()]


def test_the_main_part_of_a_module_does_not_run() -> None:
    assert paths(TRAIN, "if __name__ == '__main__':\n    torch.load('a.pt')\n") == []


def test_a_variable_called_alike_is_not_the_function() -> None:
    module = "def test(path):\n    return torch.load(path)\n"
    script = f"from score import test\n{TRAIN}test(folder)\n"
    assert paths(script, module, "train, test = split(rows)\nprint(test)\n") == []


def test_methods_of_a_class_built_on_another_may_be_called_unseen() -> None:
    assert paths(TRAIN, "class Hook(Base):\n    def begin(self):\n        torch.load('a.pt')\n") == [set()]
    assert paths(TRAIN, "class Hook:\n    def begin(self):\n        torch.load('a.pt')\n") == []


def test_pretrained_weights_and_data_are_no_checkpoints() -> None:
    for line in ("model = AutoModel.from_pretrained(args.model_name)", "rows = np.load('rows.npy')",
                 "table = json.load(file)", "copy.load_state_dict(model.state_dict())"):  # fmt: skip
        assert paths(f"{line}\n{TRAIN}") == [], line
    assert paths(f"model = AutoModel.from_pretrained(args.checkpoint_folder)\n{TRAIN}") == [{"checkpoint_folder"}]


def test_weights_from_a_hub_are_no_checkpoints() -> None:
    text = "def base():\n    path = hf_hub_download('a/b', 'm.safetensors')\n    return load_file(path)\n"
    assert paths(f"{text}base()\n{TRAIN}") == []


def test_trainers_that_are_told_what_to_go_on_from() -> None:
    assert paths(f"{TRAIN}\nrunner.go(ckpt_path=args.last)\n", "") == []
    assert paths(f"runner.go(ckpt_path=args.last)\n{TRAIN}") == [{"last"}]


def test_programs_without_a_loop_of_their_own_are_not_known() -> None:
    assert paths("Runner(config).train()\n") is None
    assert paths(f"manager = CheckpointManager(folder)\n{TRAIN}") is None


def option(off: bool | None) -> dict[str, bool | None]:
    return {"resume": off}


def test_options_that_are_off() -> None:
    assert is_off("resume", (TRAIN,), option(True).get)
    assert not is_off("resume", (TRAIN,), option(False).get)
    assert not is_off("resume", (TRAIN,), option(None).get)


def test_fields_of_settings_are_off_where_they_say_so() -> None:
    settings = "class Settings:\n    resume: bool = False\n"
    assert is_off("resume", (settings,), option(None).get)
    assert not is_off("resume", (settings.replace("False", "True"),), option(None).get)
    for default, off in (("None", True), ("False", True), ("'auto'", False), ("True", False), ("newest()", False)):
        for end in (")", ', metadata={"help": "where from"})', ",\n    )"):
            text = f"class Settings:\n    resume: str | None = field(\n        default={default}{end}\n"
            assert is_off("resume", (text,), option(None).get) is off, text
    assert not is_off("resume", ("class S:\n    resume: list = field(default_factory=list)\n",), option(None).get)


def test_what_sets_an_option_elsewhere() -> None:
    for line in ("args.resume = newest(folder)", 'config["resume"] = found', "Settings(resume=newest(folder))",
                 'config = {"resume": found}'):  # fmt: skip
        assert not is_off("resume", (line + "\n",), option(True).get), line


def test_what_hands_its_value_on_or_sets_it_only_where_it_is_given() -> None:
    for line in ("config.resume = args.resume", "Settings(resume=args.resume, steps=9)", "self.resume = None",
                 'config.resume = cfg.get("resume", None)', "if args.resume:\n    config.resume = True",
                 "resume = newest(folder)", "print(args.resume == wanted)"):  # fmt: skip
        assert is_off("resume", (line + "\n",), option(True).get), line
    assert not is_off("resume", ("resume = newest(folder)\nargs.resume = resume\n",), option(True).get)


def test_defaults_from_a_file_that_the_program_reads_itself() -> None:
    assert paths(f"if args.resume:\n    torch.load(args.resume)\nparser.set_defaults(**found)\n{TRAIN}") is None


def test_an_option_that_another_one_gives() -> None:
    field = "class Settings:\n    start: str | None = None\n"
    made = "Settings(start=args.resume)\n"
    for resume, off in ((True, True), (False, False), (None, False)):
        assert is_off("start", (field, made), {"resume": resume}.get) is off, resume
    assert not is_off("start", (field, made, "args.resume = newest()\n"), {"resume": True}.get)
    assert not is_off("start", (field, "Settings(start=find(args.resume))\n"), {"resume": True}.get)
    circle = "a.start = b.resume\nb.resume = a.start\n"
    assert not is_off("start", (field, circle), {"resume": True, "start": True}.get)


@pytest.mark.parametrize(
    "text",
    [
        "loss.backward()\nx = m" + ".load('a')" * 800 + "\n",
        "".join(f"a{n} = torch.load('f{n}.pt')\ntorch.save(x, 'g{n}.pt')\n" for n in range(1_500))
        + "loss.backward()\n",
        "def f(c):\n"
        + "".join(f"    x = c.a{n}\n    t.fit(m, ckpt_path=x)\n" for n in range(1_500))
        + "loss.backward()\n",
    ],
    ids=["deep", "many", "handed on"],
)
def test_a_program_that_nobody_wrote_is_not_followed(text: str) -> None:
    """To follow it would take half a minute."""
    assert restoring_ways((text,)) is None


@pytest.mark.parametrize(
    ("lines", "options", "places"),
    [
        ("path = None\nif config.again:\n    path = config.newest", {"again", "newest"}, {"newest"}),
        ("path = config.newest if config.again else None", {"again", "newest"}, set()),
        ("path = config.newest or None", {"newest"}, set()),
        ("path = config.newest", {"newest"}, {"newest"}),
        ("path = config.newest\nif config.again:\n    path = find()", set(), set()),
        ("path = config.newest\npath += '.pt'", set(), set()),
        ("path, other = config.newest, 1", set(), set()),
        ("for path in config.newest:\n    pass", set(), set()),
        ("with find() as path:\n    pass", set(), set()),
        ("path = None\nif path:\n    path = path", set(), set()),
        ("\n".join(["path = config.newest"] * 50), set(), set()),
    ],
)  # fmt: skip
def test_what_a_variable_of_a_function_holds(lines: str, options: set[str], places: set[str]) -> None:
    body = "".join(f"    {line}\n" for line in f"{lines}\ntrainer.fit(model, ckpt_path=path)".splitlines())
    ways = restoring_ways((f"def run(config):\n{body}run(config)\n",), by_trainer=True)
    assert ways is not None
    assert [(set(way.options), set(way.places)) for way in ways] == [(options, places)]


def test_a_parameter_is_not_followed() -> None:
    text = (
        "def run(config, path):\n    path = path or config.newest\n    trainer.fit(model, ckpt_path=path)\nrun(a, b)\n"
    )
    ways = restoring_ways((text,), by_trainer=True)
    assert ways is not None
    assert [set(way.options) for way in ways] == [set()]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("if args.again:\n    args.__dict__.update(read(args.again))\n", [{"again"}]),
        ("def fill(args):\n    vars(args).update(read())\nif args.again: args = fill(args)\n", [{"again"}]),
        ("for key, value in read():\n    setattr(args, key, value)\n", [set()]),
        ("vars(args).update(read())\n", [set()]),
        ("self.args.__dict__.update(read())\n", [set()]),
        ("def fill(args):\n    vars(args).update(read())\n", []),
    ],
    ids=["under an option", "in a function", "one by one", "all", "of an object", "never called"],
)
def test_settings_taken_over_from_elsewhere_may_tell_it_to_go_on(lines: str, expected: list[set[str]]) -> None:
    ways = restoring_ways((lines + TRAIN,))
    assert ways is not None
    assert [set(way.options) for way in ways] == expected
    assert not any(way.reads for way in ways)


def test_a_condition_of_one_line_sets_no_option() -> None:
    declared = {"resume": True}.get
    assert is_off("resume", ("if args.resume: state = load(args.resume)\n",), declared)
    assert not is_off("resume", ("if args.again: args.resume = newest()\n",), declared)
    assert not is_off("resume", ("class Settings:\n    resume: str = newest()\n",), declared)


@pytest.mark.parametrize(
    ("call", "ways"),
    [
        ("fit()", []),
        ("fit(None)", []),
        ("fit(path=None)", []),
        ("fit(args.resume)", [{"resume"}]),
        ("fit(path=args.resume)", [{"resume"}]),
        ("fit(newest)", [set()]),
        ("fit(*all_of_them)", [set()]),
        ("fit(chosen(args.resume))", [{"resume"}]),
        ("fit(chosen(None))", []),
        ("fit(found(args.resume))", [set()]),
    ],
)
def test_what_a_call_gives_a_parameter(call: str, ways: list[set[str]]) -> None:
    text = (
        "def chosen(name):\n    if name is None:\n        return None\n    return home / name\n"
        "def found(name):\n    name = name or newest()\n    return name\n"
        "def fit(path=None):\n    {}\n    loss.backward()\n    optimizer.step()\n"
    )
    for body in ("model.load_checkpoint(path)", "if path is not None:\n        model.load_checkpoint('a')"):
        assert paths(f"{text.format(body)}{call}\n") == ways, body


def test_a_parameter_that_is_given_another_value_is_not_that_of_the_call() -> None:
    text = f"def fit(path=None):\n    path = path or newest()\n    model.load_checkpoint(path)\nfit()\n{TRAIN}"
    assert paths(text) == [set()]


def test_a_method_may_be_called_by_an_attribute() -> None:
    text = (
        "class Runner:\n    def __init__(self, args):\n"
        "        self.reads = (self.read_all if many else self.read_one)\n        {}\n"
        "    def read_one(self):\n        torch.load('a')\n    def read_all(self):\n        torch.load('b')\n"
    )
    for call, ways in (("pass", []), ("if args.resume:\n            self.reads()", [{"resume"}]),
                       ("self.reads()", [set()]), ("later(self.reads)", [set()])):  # fmt: skip
        assert paths(text.format(call) + f"Runner(args)\n{TRAIN}") == ways, call


def test_a_function_of_the_script_is_none_of_a_module() -> None:
    module = "def start(path):\n    return torch.load(path)\n"
    own = f"def start(path):\n    return path\n{{}}start('a')\n{TRAIN}"
    assert paths(own.format(""), module) == []
    assert paths(own.format("from module import start as begin\nbegin('b')\n"), module) == [set()]
    assert paths(own.format("import module\nmodule.start('b')\n"), module) == [set()]
