"""Attacks on a release, each measured against a control."""
