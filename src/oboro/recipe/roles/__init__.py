"""What each column of a table probably is to the people in it, judged by its name, its values and whom it singles out."""
