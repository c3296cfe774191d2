"""Screens of the web interface: plain data in, plain data out; the library decides."""
