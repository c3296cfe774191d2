"""What a release exposes: the last look before it is written, and the assessment of a released file."""
