"""Where tables are: files, folders, object stores, databases, and objects of other libraries."""
