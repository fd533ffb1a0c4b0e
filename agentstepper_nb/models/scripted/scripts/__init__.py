"""The built-in scripts; each module defines one, named `script`.

Imports what `models` may.
Begin reading in `fix_tests`.
"""
