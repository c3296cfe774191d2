"""Lattices with more nodes than can be listed: a good node soon, then a proof that closes in on the best."""
