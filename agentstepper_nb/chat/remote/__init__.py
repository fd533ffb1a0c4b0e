"""The way into a chat from outside: tokens, what is served by the Core's port, and its clients."""
