"""What a sum comes to."""

from .tokens import tokens

SIGNS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}
#: How strongly signs bind.
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}


def evaluate(text):
    """Work out a sum."""
    rest = tokens(text)
    return _sum(rest, 0)


def _sum(rest, strength):
    value = _value(rest)
    while rest and rest[0] != ")" and STRENGTH[rest[0]] >= strength:
        sign = rest.pop(0)
        value = SIGNS[sign](value, _sum(rest, STRENGTH[sign]))
    return value


def _value(rest):
    first = rest.pop(0)
    if first != "(":
        return int(first)
    value = _sum(rest, 0)
    rest.pop(0)
    return value
