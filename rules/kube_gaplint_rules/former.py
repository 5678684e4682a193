"""Codes and names that rules had before, with the code that has taken their place.

A row stays for at least two minor releases (docs/stability.md). Options, configurations and suppressions that still say
the old one mean the new one.
"""

FORMER: dict[str, str] = {}
