"""Parameters as data: declared once with their types and a docstring each, checked at the door, never changed."""

from oboro.table.parameters.documented import Documented, Parameters

__all__ = ["Documented", "Parameters"]
