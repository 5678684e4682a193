"""Whether one switch of a program decides on all that it saves while it trains."""

from textwrap import dedent

import pytest

from kube_gaplint.launch.save_switch import decides_on_saves

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
