"""What is looked at before anything is written: who is unique, whose rows these are, earlier releases, columns that name people."""
