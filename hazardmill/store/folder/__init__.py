"""A store in a folder: file locks between processes, and commits by renaming a manifest into place."""
