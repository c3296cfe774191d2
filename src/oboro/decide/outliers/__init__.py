"""Records that stand out: by one value, by a rare one, among all columns, or by few attributes that already single them out."""

from oboro.decide.outliers.detector import Found, Method, Outliers
from oboro.table.special_uniques import SpecialUniques, special_uniques

__all__ = ["Found", "Method", "Outliers", "SpecialUniques", "special_uniques"]
