"""The SCHED rules."""
