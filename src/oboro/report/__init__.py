"""The report: facts first, then sections made of blocks, then one self-contained page."""

from oboro.report.build import build
from oboro.report.facts import ColumnFacts, TableFacts
from oboro.report.report import Report

__all__ = ["ColumnFacts", "Report", "TableFacts", "build"]
