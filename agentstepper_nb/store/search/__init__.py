"""Full-text search over all runs: an FTS5 index that follows the store on a thread of its own."""

from .query import look
from .search import Search

__all__ = ["Search", "look"]
