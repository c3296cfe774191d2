"""Generalization hierarchies: how values become coarser, level by level."""
