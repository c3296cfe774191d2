"""The proof: does a release keep its promise? It regroups what was released and never asks how it was made."""
