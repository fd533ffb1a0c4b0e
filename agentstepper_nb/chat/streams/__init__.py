"""Answers as they come: sources of every kind are read item by item, and pieces become messages."""
