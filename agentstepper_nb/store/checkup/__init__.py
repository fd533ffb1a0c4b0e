"""The care of a store's folder: what is wrong with it, and what can be repaired.

`examine` looks and changes nothing, beside a Core that runs or without one; `repair` takes the folder's
lock. What is damaged is read around the damage (`salvage`), into a new store.
"""

from .examination import Aside, Checkup, HurtRun, examine
from .repairs import repair

__all__ = ["Aside", "Checkup", "HurtRun", "examine", "repair"]
