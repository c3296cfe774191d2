"""Disclosure: the checks of a release before it is written, the same on every engine."""
