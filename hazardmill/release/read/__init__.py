"""Reading a release, and exporting training rows from it."""
