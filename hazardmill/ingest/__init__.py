"""From files of a source to records."""
