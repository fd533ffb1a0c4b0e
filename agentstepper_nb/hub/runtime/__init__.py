"""Background agents at the Core: the rules around their store, and the notifications of changes.

Imports what `hub` may.
Begin reading in `runtime`, then in `service`: what clients and workers request.
"""

from ...protocol.runtime_methods import MethodRight
from .admission import AdmissionLimits
from .runtime import Runtime
from .service import RuntimeService

__all__ = ["AdmissionLimits", "MethodRight", "Runtime", "RuntimeService"]
