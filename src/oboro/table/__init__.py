"""What the data is: values, columns, hierarchies, roles, groups."""
