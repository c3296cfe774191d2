"""Value × level → value: how values become coarser, step by step.

`HierarchySpec` is what a recipe says (a file, intervals, dates, a mask, a tree, or nothing). `build` binds it to a
column and gives a `Hierarchy`: for each level the labels and one small lookup table over the column's codes. Rows are
never copied.
"""

from oboro.table.hierarchy.levels import Hierarchy, Level
from oboro.table.hierarchy.spec import HierarchySpec

__all__ = ["Hierarchy", "HierarchySpec", "Level"]
