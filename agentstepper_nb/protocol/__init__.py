"""The words of the debugger: frozen values, no I/O, no clock.

`data_model` has the nouns, `records` what is stored, `frame`, `agent` and `ui` version 2's wire, `v1`
AgentStepper's own, `error_codes` every error that travels.
"""
