"""The DATA rules."""
