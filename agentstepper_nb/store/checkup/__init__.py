"""The care of a store's folder: what is wrong with it, and what can be repaired.

`examine` looks and changes nothing, beside a Core that runs or without one; `repair` takes the folder's
lock. What is damaged is read around the damage: `wreck` gives rows, `pieces` makes a run of them.
"""

from .looking import examine
from .repairing import repair
from .report import Aside, Checkup, HurtRun

__all__ = ["Aside", "Checkup", "HurtRun", "examine", "repair"]
