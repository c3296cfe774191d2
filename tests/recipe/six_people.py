"""Six people in two groups of three, and a recipe that finds them."""

from __future__ import annotations

PEOPLE = {
    "name": ["Ann", "Bob", "Cid", "Dan", "Eve", "Fay"],
    "age": [31, 38, 35, 52, 57, 59],
    "disease": ["flu", "cold", "flu", "ulcer", "flu", "cold"],
}
RECIPE = """
attributes:
  name: {role: identifier}
  age: {role: quasi, hierarchy: {intervals: [10, 20]}}
  disease: {role: sensitive}
steps:
  - drop_columns: {attributes: [name]}
  - k_anonymize: {k: 3, l_diversity: {disease: 2}}
seed: 1
"""
