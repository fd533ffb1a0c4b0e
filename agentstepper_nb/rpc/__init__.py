"""Requests both ways over one connection to a Core: for workers, clients of its services, and chats.

Imports `protocol`, `discover`.
Begin reading in `session`: both ends on an event loop; `peer` has the rules without I/O,
`connection` opens one, `persistent_connection` reconnects.
"""
