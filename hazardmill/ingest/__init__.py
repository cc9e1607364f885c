"""From the native files of a source to records in the store."""
