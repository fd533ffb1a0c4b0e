"""Where a run halts by itself: the same rules in the agent's SDK, in the Core, and on recorded runs."""

from .engine import Stops, Verdict, changed_paths, check, point_of, replay, try_stop
from .watches import Point

__all__ = ["Point", "Stops", "Verdict", "changed_paths", "check", "point_of", "replay", "try_stop"]
