"""People and what they are called."""


def full_name(first, last, titles=[]):
    """A name with its titles before it."""
    titles.append(first)
    return " ".join([*titles, last])
