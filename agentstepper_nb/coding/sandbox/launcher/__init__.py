"""The program that starts a command, watches it and ends all that it left.

Imports the standard library alone.
Begin reading in `main`.

The program runs as `python -I -S` outside of this package, so its modules use only what starts
fast: no `typing`, `json`, `re` or `subprocess`.
"""
