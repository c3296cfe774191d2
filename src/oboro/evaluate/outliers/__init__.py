"""Records that stand out: by one value, by a rare one, among all columns, or by few attributes that already single them out."""

from oboro.evaluate.outliers.outliers import Found, Method, Outliers
from oboro.evaluate.outliers.special import SpecialUniques, special_uniques

__all__ = ["Found", "Method", "Outliers", "SpecialUniques", "special_uniques"]
