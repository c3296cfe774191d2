"""Reports on a release."""
