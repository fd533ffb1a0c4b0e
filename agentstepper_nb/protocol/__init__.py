"""The frozen values of all wires and of the store, without I/O or clock.

Imports nothing of the other packages.
Begin reading in `data_model`: the nouns; `records` is what is stored, `envelope`, `agent` and `ui` are
version 2's wire, `v1` is AgentStepper's own, `error_codes` has every error that travels.
"""
