"""What people set for runs to come, in Python: stops, and what models cost."""

from .dry_run import DryRunResults, try_stop
from .prices import delete_price, list_prices, set_price
from .stop import Stop, add_stop, stops

__all__ = [
    "DryRunResults",
    "Stop",
    "add_stop",
    "delete_price",
    "list_prices",
    "set_price",
    "stops",
    "try_stop",
]
