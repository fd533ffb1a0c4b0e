"""Which years are long."""


def is_leap(year: int) -> bool:
    """Whether a year has a 29th of February."""
    return year % 4 == 0


def days(year: int) -> int:
    """How many days a year has."""
    return 366 if is_leap(year) else 365
