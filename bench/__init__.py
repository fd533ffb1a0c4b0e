"""What the debugger costs, measured side by side with what it can't cost less than."""
