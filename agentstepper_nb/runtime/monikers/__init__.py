"""Monikers that come with the package, and the registry that finds all of them.

Imports what `runtime` may.
Begin reading in `joke`: the smallest one; `registry` loads installed ones.
"""
