"""Processes that connect to the Core and serve what its own process must not run.

Imports `protocol`, `discover`, `rpc`.
Begin reading in `serve_loop`: a worker from start to end; `services` loads what it serves.
"""
