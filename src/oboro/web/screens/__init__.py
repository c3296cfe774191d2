"""What each screen asks: plain data in, plain data out; the library decides."""
