"""What a released label stands for among the original values of its column."""
