"""The command line: one module a command. Only this folder knows click."""
