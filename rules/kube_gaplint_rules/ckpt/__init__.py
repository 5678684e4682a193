"""The CKPT rules."""
