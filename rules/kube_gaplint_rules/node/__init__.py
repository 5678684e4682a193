"""The NODE rules."""
