"""Requests both ways over one connection to a Core: for workers, clients of its services, and chats.

`peer` has the rules of the connection without I/O, `session` drives them on an event loop at both ends,
`connection` opens a connection and greets, `persistent_connection` dials again where one is lost,
`service_client` asks one service over it, and `loop_thread` lends an event loop to programs that have
none.
"""
