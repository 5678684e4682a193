"""Bytes to nodes with spans, comments and edits. Knows nothing of Kubernetes."""
