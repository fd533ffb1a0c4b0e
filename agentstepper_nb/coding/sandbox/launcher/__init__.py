"""The program that starts a command, watches it and ends all that it left.

The program runs as `python -I -S` outside of this package, so its modules import the standard library
alone, and of that only what starts fast: no `typing`, `json`, `re` or `subprocess`.
"""
