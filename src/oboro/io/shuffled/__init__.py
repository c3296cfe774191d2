"""Tables larger than memory, written in a new order: rows are dealt to buckets, and one bucket after the other is written."""
