"""The GPU rules."""
