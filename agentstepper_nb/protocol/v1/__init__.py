"""Version 1: AgentStepper's own wire, taken whole, as an adapter at the edge.

`agent` is the agents' side, `ui` the web UI's, `runfile` the `.run` file.
"""
