"""A store in a folder of this machine: file locks between processes, and copies to a folder."""
