"""Kernels of the lattice search: arrays in, arrays out."""
