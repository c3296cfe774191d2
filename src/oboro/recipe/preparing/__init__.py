"""Before a recipe runs: a starter from a table, one column's hierarchy, sample files with ready recipes, a schema for editors."""
