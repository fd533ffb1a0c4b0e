"""The way into a chat from outside: tokens, the door by the Core's port, and its clients."""
