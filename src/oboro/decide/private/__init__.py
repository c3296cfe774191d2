"""Who stands with whom where the choice itself must tell nothing of anybody: sampling, and levels chosen at random."""
