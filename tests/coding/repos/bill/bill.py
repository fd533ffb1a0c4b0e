"""Bills, in cents."""


def total(prices, tip=0):
    """What is to be paid, with a tip in percent."""
    cents = sum(prices)
    return cents + cents * tip / 100
