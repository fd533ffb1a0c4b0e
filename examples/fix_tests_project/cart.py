"""What a shopping cart costs."""

from collections.abc import Iterable


def total(items: Iterable[tuple[float, int]]) -> float:
    """The sum of price times quantity, in euros and whole cents."""
    return sum(price * quantity for price, quantity in items)
