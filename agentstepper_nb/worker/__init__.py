"""Processes that dial in to the Core and serve what its own process must not run.

`service` says what a worker serves, `run` is its life; `rpc` has the connection.
"""
