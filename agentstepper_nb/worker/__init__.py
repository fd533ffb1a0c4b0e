"""Processes that dial in to the Core and serve what its own process must not run.

`services` says what a worker serves, `serve_loop` is its life; `rpc` has the connection.
"""
