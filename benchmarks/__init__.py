"""Benchmarks, run from a checkout: `python -m benchmarks NAME` reproduces a paper's tables, `python -m benchmarks.growth` and the
like measure one thing each.
"""
