"""Rules that were: codes and names that have moved, and rules that are gone.

A row stays for at least two minor releases (docs/stability.md). Options, configurations and suppressions that still say
an old code or name are told so.
"""

FORMER: dict[str, str] = {}
"""Codes and names that rules had before, with the code that has taken their place: whoever says the old one means the
new one."""
GONE: dict[str, str] = {}
"""Codes and names of rules that no other has replaced, with the reason: `gone since 0.3, Kubernetes rejects it now`.
Whoever says one means nothing."""
