"""What becomes of a record when it is committed: its rows, and its outcome beside the records before it."""
