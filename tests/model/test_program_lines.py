"""What a program saves and reads back, by the lines of its text."""

from textwrap import dedent

import pytest

from kube_gaplint.model.program_lines import decides_on_saves, restores_only_if, saved_by_keras, saves_in_a_loop

LOOP = """
    def train(config, model):
        for step in range(config.steps):
            model.step()
            {test}
                {save}
        {after}
"""


def program(test: str = "if config.save_ckpt:", save: str = "torch.save(model, 'x.pt')", after: str = "return") -> str:
    return dedent(LOOP).format(test=test, save=save, after=after)


@pytest.mark.parametrize(
    "text",
    [
        program(),
        program(test="if step % 100 == 0 and args.save_ckpt:"),
        program(test='if config["save_ckpt"]:'),
        program(save="self.save_checkpoint(step)"),
        program(after="torch.save(model, 'final.pt')"),
        program(after="for image in images:\n        image.save('x.png')"),
        program(after="while True:\n        tokenizer.save_pretrained('x'); model.load_checkpoint('x')"),
        program(after="for block in blocks:\n        y = checkpoint(block, x); np.save('y', y)"),
        program(test="if config.dry_run:\n            pass\n        elif config.save_ckpt:"),
        program(test="if config.save_ckpt: torch.save(model, 'y.pt')\n        if False:", save="pass"),
    ],
)
def test_the_switch_decides(text: str) -> None:
    assert decides_on_saves([text], "save_ckpt")


@pytest.mark.parametrize(
    "text",
    [
        program(test="if step % 100 == 0:"),
        program(test="if not config.save_ckpt:"),
        program(test="if config.save_ckpt is False:"),
        program(test="if config.save_ckpt_now:"),
        program(after="for step in range(10):\n        accelerator.save_state('x')"),
        program(after="while True:\n        trainer.save_model('x')"),
        program(save="print('saved')"),
        program(save="pass", after="if config.save_ckpt:\n        torch.save(model, 'final.pt')"),
        "def later(self):\n    if self.save_ckpt:\n        torch.save(self.model, 'x.pt')\n",
        "print('nothing of the kind')",
        "",
    ],
)
def test_it_does_not(text: str) -> None:
    assert not decides_on_saves([text], "save_ckpt")


def test_another_module_saves_in_a_loop_of_its_own() -> None:
    other = program(test="if better:")
    assert not decides_on_saves([program(), other], "save_ckpt")
    assert decides_on_saves([program(), "import torch"], "save_ckpt")


def test_a_function_ends_the_loop_around_it() -> None:
    text = "for _ in range(3):\n    def save(model):\n        torch.save(model, 'x.pt')\n" + program()
    assert decides_on_saves([text], "save_ckpt")


def test_a_text_without_measure_is_not_read() -> None:
    assert not decides_on_saves([program(), "x = 'save'\n" * 100_001], "save_ckpt")


@pytest.mark.parametrize(
    ("text", "saves"),
    [
        (program(test="if step % 100 == 0:", save="self.save_checkpoint(step)"), True),
        (program(test="if step % 100 == 0:", save="torch.save(model.state_dict(), 'x.pt')"), True),
        (program(test="if step % 100 == 0:", save="torch.save(features, 'x.pt')"), False),
        (program(test="if args.save_model:", save="self.save_checkpoint(step)"), False),
        (program(test="if self.save_checkpoint(step):", save="pass"), False),
        (program(test="if True:", save="pass", after="save_checkpoint(model)"), False),
        ("def fit():\n    while True:\n        if step == config.save_freq:\n            dcp.save(state)\n", True),
        ("def save_model():\n    pass\n", False),
        (program(test="if step % 100 == 0:", save="torch.save(\n                {\n'm': model.state_dict()"), True),
        (program(test="if step % 100 == 0:", save="torch.save(\n                features, 'x.pt')"), False),
    ],
)
def test_saves_in_a_loop(text: str, saves: bool) -> None:
    assert saves_in_a_loop([text, ""]) is saves


OWN = """
class Agent:
    def save(self, path):
        {saves}

class Base:
    def save(self, path):
        raise NotImplementedError
"""


@pytest.mark.parametrize(
    ("saves", "test", "call", "found"),
    [
        ("torch.save(self.net.state_dict(), path)", "if step % 100 == 0:", "agent.save(path)", True),
        ("torch.save(self.net.state_dict(), path)", "if args.save_model:", "agent.save(path)", False),
        ("torch.save(self.net.state_dict(), path)", "if step % 100 == 0:", "self.video.save(path)", False),
        ("torch.save(self.net.state_dict(), path)", "if step % 100 == 0:", "agent.saved(path)", False),
        ("torch.save(self.frames, path)", "if step % 100 == 0:", "agent.save(path)", False),
    ],
)
def test_saves_by_a_method_of_its_own(saves: str, test: str, call: str, found: bool) -> None:
    own = OWN.format(saves=saves)
    assert saves_in_a_loop([program(test=test, save=call), own]) is found
    buffer = "class Buffer:\n    def save(self, path):\n        np.savez(path, self.rows)\n"
    assert not saves_in_a_loop([program(test=test, save=call), own, buffer])
    assert not saves_in_a_loop(["for agent in agents:\n    agent.save(path)\n", own])


RESTORES = """
class Agent:
    def __init__(self, config):
        {test}
            self.load_checkpoint(config.resume_path)

    def load_checkpoint(self, path):
        self.model.load_state_dict(torch.load(path))
"""


@pytest.mark.parametrize(
    ("test", "only"),
    [
        ("if config.resume_path:", True),
        ("if rank == 0 and config.resume_path is not None:", True),
        ("if config.path:", False),
        ("for _ in range(2):", False),
    ],
)
def test_restores_only_if(test: str, only: bool) -> None:
    text = RESTORES.format(test=test)
    assert restores_only_if(["import torch", text], "resume_path") is only


def test_a_program_that_restores_nothing_restores_it_under_no_condition() -> None:
    assert not restores_only_if([program()], "resume_path")
    assert not restores_only_if(
        [RESTORES.format(test="if config.resume_path:"), "model.load_state_dict(x)"], "resume_path"
    )


@pytest.mark.parametrize(
    ("text", "saves"),
    [
        ("from keras.callbacks import ModelCheckpoint\nmodel.fit(x, callbacks=[ModelCheckpoint('a.h5')])\n", True),
        ("import tensorflow as tf\nsaves = tf.keras.callbacks.ModelCheckpoint('a')\nmodel.fit(x)\n", True),
        ("from tensorflow import keras\nfrom keras.callbacks import ModelCheckpoint\nmodel.fit(x)\n", False),
        ("import keras\nif keep:\n    saves.append(keras.callbacks.ModelCheckpoint('a'))\nmodel.fit(x)\n", False),
        ("import keras\n# saves = keras.callbacks.ModelCheckpoint('a')\nmodel.fit(x)\n", False),
        ("import lightning\nsaves = ModelCheckpoint('a')\ntrainer.fit(model)\n", False),
        ("import tensorflow as tf\nsaves = ModelCheckpoint('a')\ntrainer.fit(model)\n", False),
    ],
)
def test_keras_saves(text: str, saves: bool) -> None:
    assert saved_by_keras(text) is saves
