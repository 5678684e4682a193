"""The RETRY rules."""
