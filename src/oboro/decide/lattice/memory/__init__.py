"""What looks at nodes saw, kept for the next question."""
