"""Which rows there are and in which order: where each came from, and a new order for them."""
