"""The NET rules."""
