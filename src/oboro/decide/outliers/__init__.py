"""Records that stand out: by one value, by a rare one, among all columns, or by few attributes that already single them out."""

from oboro.decide.outliers.detector import Method, Outliers

__all__ = ["Method", "Outliers"]
