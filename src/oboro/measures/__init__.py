"""Measures of risk, exposure, information loss and utility."""
