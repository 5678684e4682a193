"""The SLURM rules."""
