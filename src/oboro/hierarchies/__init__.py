"""Generalization hierarchies: values generalized level by level."""
