"""Where a run halts by itself: the same rules in the agent's SDK, in the Core, and on recorded runs."""

from .engine import Point, Stops, Verdict
from .trial import check, try_stop

__all__ = ["Point", "Stops", "Verdict", "check", "try_stop"]
