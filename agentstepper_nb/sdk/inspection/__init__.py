"""Inspection of an agent that waits at a halt point: its stack, its locals, expressions there.

Imports what `sdk` may.
Begin reading in `inspector`, which answers the Core's requests, each on its own thread. Inspection
changes the agent's behaviour only through the calls in a person's expression.
"""
