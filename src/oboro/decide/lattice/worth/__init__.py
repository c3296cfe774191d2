"""What classes are worth: to whoever predicts something from them, and to whoever publishes or attacks them."""
