"""Model providers, each in its own module, imported where it is used.

Imports `protocol`, `llm_wire`.
Begin reading in `provider`: the interface; `registry` finds providers by name.
"""
