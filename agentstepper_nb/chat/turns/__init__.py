"""A turn: whose it is, how it goes on, and how the debugger shows it."""
