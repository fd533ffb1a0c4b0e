"""Lists of people."""

from people import full_name


def roster(people):
    """One name a line, by last name."""
    return "\n".join(full_name(first, last) for first, last in sorted(people))
