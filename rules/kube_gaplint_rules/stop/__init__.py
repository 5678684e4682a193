"""The STOP rules."""
