"""Monikers that come with the package, and how all of them are found."""
