"""Attacks by somebody who has several releases of the same people: intersection and difference."""
