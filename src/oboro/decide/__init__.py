"""Who stands with whom: the deciding side."""
