"""Access to a chat from outside its process: tokens, the service at the Core's port, and the clients.

Imports what `chat` may.
Begin reading in `service`, then in `client`.
"""
