"""The IMG rules."""
