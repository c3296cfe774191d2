"""Small groups of similar records: MDAV, V-MDAV, groups of fixed size."""
