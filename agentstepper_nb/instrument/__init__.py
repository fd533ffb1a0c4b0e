"""Zero-line attaching: agents halt at each LLM query without a line of theirs changed.

Imports `sdk`, `llm_wire` and `protocol`; httpx, httpx2 and frameworks only once an agent imports these.
Begin reading in `http_seam`, then in `http_query`: one query on its way through the seam.
"""

from ..protocol.seams import Seam
from .endpoints import register_endpoint
from .seams import disable, enable, is_enabled, list_seams

__all__ = ["Seam", "disable", "enable", "is_enabled", "list_seams", "register_endpoint"]
