"""Processes that dial in to the Core and serve what its own process must not run.

`peer` has the rules of their connection without I/O, `line` drives them on an event loop at both ends,
`service` is what a worker serves, `run` its life.
"""
