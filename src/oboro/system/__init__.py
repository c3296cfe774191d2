"""The one door to the operating system: files that appear whole, locks, writing past the cache.

What only some systems have is asked for here and nowhere else, with a way to do without it.
"""
