"""k-concealment: choose the generalization of each record so that k perfect matchings stay possible."""
