"""Frames of other libraries in, the same kind of frame out."""

from oboro.table.frames.frame import Frame

__all__ = ["Frame"]
