"""Whether a program saves when it is told to stop, and whether it saves at no other time."""

from __future__ import annotations

import textwrap

import pytest

from kube_gaplint.launch.python import read_python
from kube_gaplint.launch.python_signals import StopFacts
from kube_gaplint.text.source import Source, WholeText

SAVE = 'torch.save({"step": step}, "/state/a.pt")'


def stop(text: str) -> StopFacts:
    text = "import signal, sys, torch\n" + textwrap.dedent(text).replace("SAVE", SAVE)
    return read_python(WholeText(Source("train.py", text))).at_stop


FLAG = "asked = False\ndef note(*_):\n    global asked\n    asked = True\nsignal.signal(signal.SIGTERM, note)\n"
EXIT = "def leave(*_):\n    print('bye')\n    sys.exit(1)\nsignal.signal(signal.SIGTERM, leave)\n"
LOOP = "for step in range(9):\n    optimizer.step()\n"


@pytest.mark.parametrize(
    ("text", "saves", "only_then"),
    [
        (f"{FLAG}{LOOP}    if asked:\n        SAVE\n        break\n", True, True),
        (f"{FLAG}{LOOP}    if asked or step % 4 == 0:\n        SAVE\n", True, False),
        (f"{FLAG}{LOOP}    if asked:\n        SAVE\n    if step % n == 0:\n        SAVE\n", True, False),
        (f"{FLAG}{LOOP}    if asked:\n        SAVE\n    pickle.dump(state, file)\n", True, False),
        (f"{FLAG}{LOOP}    if not asked:\n        SAVE\n", None, False),
        (f"{FLAG}{LOOP}    if step % n == 0:\n        SAVE\n", None, False),
        (f"{FLAG}{LOOP}    if asked:\n        break\nSAVE\n", True, True),
        (f"{FLAG}while not asked:\n    optimizer.step()\nSAVE\n", True, True),
        (f"{FLAG}for epoch in range(9):\n    {LOOP[:24]}        if asked:\n            break\n    SAVE\n", None, False),
        (f"{FLAG}{LOOP}    told = torch.tensor([asked])\n    if told.item():\n        save_all(step)\n", True, True),
        (f"{FLAG}def told():\n    return asked\n{LOOP}    if told() and rank == 0:\n        SAVE\n", True, True),
        (f"{FLAG}def keep(step):\n    SAVE\n{LOOP}    if asked:\n        keep(step)\n        SAVE\n", True, True),
        (f"{FLAG}def keep(step):\n    SAVE\n{LOOP}    keep(step)\n    if asked:\n        SAVE\n", True, False),
        (f"def now(*_):\n    SAVE\n    sys.exit(0)\nsignal.signal(signal.SIGTERM, now)\n{LOOP}", True, True),
        (f"signal.signal(signal.SIGTERM, lambda *_: trainer.save_model())\n{LOOP}    SAVE\n", True, False),
        (f"{EXIT}{LOOP}    if step % n == 0:\n        SAVE\n", False, False),
        (f"{EXIT}try:\n    train()\nfinally:\n    SAVE\n", True, False),
        (f"{EXIT}try:\n    train()\nexcept SystemExit:\n    SAVE\n", True, False),
        (f"{EXIT}try:\n    train()\nexcept ValueError:\n    SAVE\n", False, False),
        (f"{EXIT}import atexit\natexit.register(finish)\n{LOOP}", None, False),
        (f"signal.signal(signal.SIGTERM, leave)\n{LOOP}    SAVE\n", None, False),
        (f"signal.signal(signal.SIGTERM, checkpoint_and_leave)\n{LOOP}    SAVE\n", True, False),
        (f"signal.signal(signal.SIGTERM, handler_for(model, ckpt))\n{LOOP}    SAVE\n", None, False),
        (f"{EXIT.replace('IGTERM, leave', 'IGTERM, partial(leave, 3)')}{LOOP}    SAVE\n", False, False),
        ("signal.signal(signal.SIGTERM, save_and_leave)\n", True, False),
        (f"signal.signal(signal.SIGTERM, lambda *_: trainer.request_stop())\n{LOOP}    SAVE\n", None, False),
        (f"signal.signal(signal.SIGTERM, signal.SIG_DFL)\n{LOOP}    SAVE\n", None, False),
        (f"{FLAG.replace('SIGTERM', 'SIGINT')}{LOOP}    if asked:\n        SAVE\n", None, False),
        (FLAG.replace("signal.SIGTERM", "one") + f"{LOOP}    if asked:\n        SAVE\n", True, True),
    ],
)
def test_what_a_handler_leads_to(text: str, saves: bool | None, only_then: bool) -> None:
    assert stop(text) == StopFacts(saves, only_then)
