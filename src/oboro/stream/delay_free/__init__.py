"""Delay-free stream anonymization: each record is decided when it arrives."""
