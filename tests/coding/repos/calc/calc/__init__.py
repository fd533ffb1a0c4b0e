"""Sums written as text."""

from .evaluate import evaluate

__all__ = ["evaluate"]
