"""Scripts that come with the package; each module has one, named `script`.

Imports what `models` may.
Begin reading in `fix_tests`.
"""
