"""Conditions on rows, in LanceDB's SQL."""

from __future__ import annotations

from collections.abc import Iterable


def equals(column: str, value: str | float) -> str:
    """The column has this value."""
    return compare(column, "=", value)


def compare(column: str, operator: str, value: str | float) -> str:
    """The column compares so with this value.

    Args:
        column: The column.
        operator: An operator: `=`, `<`, `>=`.
        value: The value.
    """
    return f"{column} {operator} {_literal(value)}"


def any_of(column: str, values: Iterable[str]) -> str:
    """The column has one of these values, of which there is one at least."""
    return f"{column} IN ({', '.join(map(_literal, values))})"


def all_of(*conditions: str | None) -> str | None:
    """All of these hold, where there are any."""
    return " AND ".join(each for each in conditions if each is not None) or None


def _literal(value: str | float) -> str:
    if isinstance(value, str):
        return "'" + str(value).replace("'", "''") + "'"
    return repr(value)
