"""A stream that runs: where records come from and go to, their formats, the state on disk, the loop."""
