"""Version 1: AgentStepper's own wire, taken whole, as an adapter at the edge.

Imports what `protocol` may.
Begin reading in `agent`: the agents' side; `ui` is the web UI's, `runfile` the `.run` file.
"""
