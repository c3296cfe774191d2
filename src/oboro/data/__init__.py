"""Tables as dictionary-encoded columns, equivalence classes, and frames of other libraries."""
