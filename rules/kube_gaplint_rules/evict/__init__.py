"""The EVICT rules."""
