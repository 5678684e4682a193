"""Credentials are known by their names and forms, and other tokens are not taken for them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kube_gaplint.facts.credentials import HIDDEN, is_credential_name, without_credentials


@pytest.mark.parametrize(
    "name",
    [
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "WANDB_API_KEY", "wandb-api-key", "AWS_SECRET_ACCESS_KEY", "GITHUB_PAT",
        "DB_PASSWORD", "password", "token", "AZURE_STORAGE_ACCOUNT_KEY", "ApiKey", "user.secret", "NGC_APIKEY",
    ],
)  # fmt: skip
def test_names_of_credentials(name: str) -> None:
    assert is_credential_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "TOKENIZERS_PARALLELISM", "MAX_TOKENS", "num-tokens", "eos_token", "bos-token", "pad-token-id", "TOKEN_FILE",
        "SECRET_NAME", "author", "monkey", "NCCL_IB_HCA", "save-interval", "auth-mode", "TORCHFT_LIGHTHOUSE", "",
    ],
)  # fmt: skip
def test_names_of_other_things(name: str) -> None:
    assert not is_credential_name(name)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("export HF_TOKEN=abc; python x.py", f"export HF_TOKEN={HIDDEN}; python x.py"),
        ("WANDB_API_KEY='a b' x", f"WANDB_API_KEY={HIDDEN} x"),
        ("train --api-key abc --lr 1", f"train --api-key {HIDDEN} --lr 1"),
        ("train --api-key=abc", f"train --api-key={HIDDEN}"),
        ("train --token --lr 1", "train --token --lr 1"),
        ("HF_TOKEN=$HF_TOKEN torchrun", "HF_TOKEN=$HF_TOKEN torchrun"),
        ('HF_TOKEN="${HF_TOKEN}"', 'HF_TOKEN="${HF_TOKEN}"'),
        ("git clone https://me:pw@host/x", f"git clone https://{HIDDEN}@host/x"),
        ("https://host:8080/a@b", "https://host:8080/a@b"),
        ("id hf_" + "a" * 30, f"id {HIDDEN}"),
        ("AKIA" + "ABCD" * 4, HIDDEN),
        ("a token of mine", "a token of mine"),
        ("--tokenizer-type GPT2BPETokenizer", "--tokenizer-type GPT2BPETokenizer"),
        ("--save /ckpt --load /ckpt", "--save /ckpt --load /ckpt"),
    ],
)
def test_texts(text: str, shown: str) -> None:
    assert without_credentials(text) == shown


@given(st.text())
def test_any_text_is_taken_and_hiding_is_done_once(text: str) -> None:
    once = without_credentials(text)
    assert without_credentials(once) == once
