"""Names and forms of credentials: what stands under or in them is shown to nobody.

A manifest should not hold any; some do, and a report ends up in logs and artefacts that more people read.
"""

from __future__ import annotations

import re

from kube_gaplint import lazy_re

# A word of the name tells. `TOKENIZERS_PARALLELISM`, `MAX_TOKENS` and `eos_token` speak of other tokens.
_NAME = lazy_re.compile(
    r"(?:^|(?<!bos)(?<!eos)(?<!pad)(?<!unk)(?<!sep)(?<!mask)(?<!image)[_.-])"
    r"(?:token|secret|passwd|password|passphrase|credentials?|apikey|api[_-]?key|access[_-]?key|private[_-]?key"
    r"|secret[_-]?key|account[_-]?key|license[_-]?key|auth|pat)"
    r"(?:$|[_.-](?!(?:path|file|dir|name|id|count|length|type|mode|url|endpoint|method)$))",
    re.I | re.ASCII,
)

# Forms that the issuers of tokens use, so that they and others recognise a leaked one.
_FORM = lazy_re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}"  # Hugging Face
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}"  # GitHub
    r"|glpat-[A-Za-z0-9_-]{16,}"  # GitLab
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"  # AWS access key ids
    r"|AIza[A-Za-z0-9_-]{30,}"  # Google API keys
    r"|sk-[A-Za-z0-9_-]{20,}"  # OpenAI and others
    r"|xox[abprs]-[A-Za-z0-9-]{10,}"  # Slack
    r"|ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]*)",  # JSON web tokens
    re.ASCII,
)
_USER_AND_PASSWORD = lazy_re.compile(r"(?<=://)[^/\s:@]{1,200}:[^/\s@]{1,200}(?=@)")
_VALUE = r"(?P<value>\"[^\"]*\"|'[^']*'|[^\s;|&\"']+)"
_ASSIGNED = lazy_re.compile(rf"(?<![\w.])(?P<start>(?P<name>[A-Za-z_][\w.-]{{0,100}})=){_VALUE}", re.ASCII)
_OPTION = lazy_re.compile(rf"(?<!\S)(?P<start>--?(?P<name>[A-Za-z_][\w.-]{{0,100}})\s+)(?!-){_VALUE}", re.ASCII)
HIDDEN = "***"


def is_credential_name(name: str) -> bool:
    """Whether a variable or an option of this name holds a credential: `HF_TOKEN`, `--wandb-api-key`."""
    return _NAME.search(name) is not None


def without_credentials(text: str) -> str:
    """The text with everything in it that looks like a credential replaced by `***`.

    References (`$HF_TOKEN`, `${{ secrets.X }}`) hold nothing and stay.
    """
    text = _FORM.sub(HIDDEN, text)
    if "://" in text and "@" in text:
        text = _USER_AND_PASSWORD.sub(HIDDEN, text)
    return _OPTION.sub(_hidden, _ASSIGNED.sub(_hidden, text))


def _hidden(found: re.Match[str]) -> str:
    if not is_credential_name(found["name"]) or found["value"].lstrip("\"'")[:1] == "$":
        return found[0]
    return found["start"] + HIDDEN
