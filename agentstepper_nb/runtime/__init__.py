"""Agents that run on their own: docs/design/0015-runtime.md.

`frame` and `moniker` are what a person writes an agent with; `core`, `agent` and `runner` run it;
`dispatcher`, `handlers` and `rehydrate` bring it what the queue says; `client` is the notebook's door.
"""
