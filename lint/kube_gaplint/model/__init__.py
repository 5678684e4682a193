"""Typed views over what will run, and the three-state `Setting`. Rules see these and nothing below them."""
