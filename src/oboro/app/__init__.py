"""The skins: command line and, later, a web page. They only translate strings into a recipe."""
