"""Windowed microaggregation of a stream: the experiments of its paper."""
