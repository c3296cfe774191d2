"""Attacks on a release, each measured beside a control."""
