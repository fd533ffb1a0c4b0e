"""Full-text search over all runs: an FTS5 index that follows the store on a thread of its own."""

from .query import find_hits_in_file
from .service import SearchService

__all__ = ["SearchService", "find_hits_in_file"]
