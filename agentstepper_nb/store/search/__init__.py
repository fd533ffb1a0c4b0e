"""Full-text search over all runs: an FTS5 index that follows the store on a thread of its own.

Imports what `store` may.
Begin reading in `service`, then in `follower` and `query`.
"""

from .query import find_hits_in_file
from .service import SearchService

__all__ = ["SearchService", "find_hits_in_file"]
