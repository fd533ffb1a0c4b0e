"""What people set for runs to come, in Python: stops, and what models cost."""

from .pricing import delete_price, prices, set_price
from .stop import Stop, add_stop, stops
from .trying import Trials, try_stop

__all__ = [
    "Stop",
    "Trials",
    "add_stop",
    "delete_price",
    "prices",
    "set_price",
    "stops",
    "try_stop",
]
