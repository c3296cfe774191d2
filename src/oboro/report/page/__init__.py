"""Facts into one page: blocks, pictures and the template."""
