"""The report: facts first, then sections made of blocks, then one self-contained page."""

from oboro.evaluate.report.build import build
from oboro.evaluate.report.facts import ColumnFacts, TableFacts
from oboro.evaluate.report.report import Report

__all__ = ["ColumnFacts", "Report", "TableFacts", "build"]
