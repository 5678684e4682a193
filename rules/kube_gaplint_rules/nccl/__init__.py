"""The NCCL rules."""
