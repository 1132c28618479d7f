"""Brings the affiliates of a company up to date with a file, CSV or an Excel workbook."""

from .job import Summary, sync
from .sheet import NotReadable

__all__ = ["NotReadable", "Summary", "sync"]
