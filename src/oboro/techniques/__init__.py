"""What is published: one class per technique, all with `apply` and `explain`."""
