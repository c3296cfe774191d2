"""Tables of Delta and Iceberg, through their own libraries: files of Parquet with a list of what counts."""
