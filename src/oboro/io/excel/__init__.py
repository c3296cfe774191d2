"""Excel: a sheet in, with titles above its table; a sheet out, with numbers, dates and text as they are."""
