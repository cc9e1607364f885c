"""The stages of the mill, in the order of a record's way: ingest, extract, author, execute, judge, refine."""
