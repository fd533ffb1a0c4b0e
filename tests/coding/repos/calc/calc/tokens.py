"""Text as numbers and signs."""

import re


def tokens(text):
    """Give the numbers and signs of a sum."""
    return re.findall(r"\d+|[-+*/()]", text)
