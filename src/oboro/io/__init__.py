"""Read and write tables: formats, files, object stores, databases and lakes."""
