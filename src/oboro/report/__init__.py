"""The report: facts first, then sections made of blocks, then one self-contained page."""

from oboro.report.facts import ColumnFacts, TableFacts
from oboro.report.inputs import Provenance, Scope, Tables
from oboro.report.make_report import make_report
from oboro.report.report import Report

__all__ = ["ColumnFacts", "Provenance", "Report", "Scope", "TableFacts", "Tables", "make_report"]
