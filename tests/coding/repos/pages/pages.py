"""Lists, a page at a time."""


def page_count(items: int, size: int) -> int:
    """How many pages a list takes."""
    return items // size


def page(items: list[str], number: int, size: int) -> list[str]:
    """One page, counted from 1."""
    return items[(number - 1) * size : number * size]
