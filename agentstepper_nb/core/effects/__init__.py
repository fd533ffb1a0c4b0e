"""Compares a tool's claim with its effect: small pure checks over a call, its result and its files.

Imports what `core` may.
Begin reading in `checks`, then in `tracker`, which holds the memory of one run for the checks.
"""

from .checks import BUILTIN_CHECKS, EffectCheck, EffectChecks, load_effect_checks
from .effect_input import EarlierCall, EffectInput, FileEffect
from .recorder import EffectRecorder, replay_history
from .tracker import EffectTracker

__all__ = [
    "BUILTIN_CHECKS",
    "EarlierCall",
    "EffectCheck",
    "EffectChecks",
    "EffectInput",
    "EffectRecorder",
    "EffectTracker",
    "FileEffect",
    "load_effect_checks",
    "replay_history",
]
