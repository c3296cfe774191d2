"""Tables in files: folders, patterns, objects of stores."""
