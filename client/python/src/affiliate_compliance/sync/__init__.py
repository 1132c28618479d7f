"""Brings the affiliates of a company up to date with a CSV file."""

from .file import NotReadable
from .job import Summary, sync

__all__ = ["NotReadable", "Summary", "sync"]
