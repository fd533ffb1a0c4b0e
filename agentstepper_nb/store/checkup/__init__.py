"""Examines a store's folder and repairs it.

Imports what `store` may.
Begin reading in `folder_report`: `examine_folder` changes nothing, beside a Core or without one;
`repairs` takes the folder's lock, `salvage` reads around damage into a new store.
"""

from .folder_report import DamagedRun, FolderReport, SetAsideStore, examine_folder
from .repairs import repair_folder

__all__ = ["DamagedRun", "FolderReport", "SetAsideStore", "examine_folder", "repair_folder"]
