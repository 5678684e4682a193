"""Adapters: one module a CRD family, from object to workload, node pool or Slurm cluster."""
