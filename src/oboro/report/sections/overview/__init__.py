"""The first screen: the verdict, short answers, and the figures that matter most."""
