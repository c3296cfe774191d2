"""How values are written: what a recipe's value means in a column, and values that differ only in how they are written."""
