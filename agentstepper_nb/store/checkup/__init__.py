"""The care of a store's folder: what is wrong with it, and what can be repaired.

`examine_folder` looks and changes nothing, beside a Core that runs or without one; `repair_folder` takes
the folder's lock. What is damaged is read around the damage (`salvage`), into a new store.
"""

from .folder_report import DamagedRun, FolderReport, SetAsideStore, examine_folder
from .repairs import repair_folder

__all__ = ["DamagedRun", "FolderReport", "SetAsideStore", "examine_folder", "repair_folder"]
