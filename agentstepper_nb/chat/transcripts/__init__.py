"""Whole conversations, kept line by line in the data folder."""
