"""Records that stand out: by one value, by a rare one, among all columns, or by few attributes that already single them out."""

from oboro.decide.outliers.detector import Method, Outliers, OutlierScores
from oboro.table.special_uniques import SpecialUniques, special_uniques

__all__ = ["Method", "OutlierScores", "Outliers", "SpecialUniques", "special_uniques"]
