"""Runs that are remembered: where nothing has changed, their output is repeated instead of found again.

An entry holds all that a run asked of the disk, with digests of the answers, and all that it said. It is found by a key
of everything else that a run depends on: the command line, the surroundings, gaplint's own code. A run is repeated when
every question has the same answer; so an entry can be missing, but not be wrong.

The entries lie in the user's own folder and never in what is linted: there, whoever opens a pull request could put one
that says that all is well.

`replay` is the way in. Nothing heavy is imported here: a run that is repeated loads these modules alone.
"""
