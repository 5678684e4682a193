"""gaplint in editors, by the Language Server Protocol; needs the extra `lsp`."""
