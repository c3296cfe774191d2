"""The report: facts first, then sections made of blocks, then one self-contained page."""

from oboro.evaluate.report.report import ColumnFacts, Report, TableFacts, build

__all__ = ["ColumnFacts", "Report", "TableFacts", "build"]
