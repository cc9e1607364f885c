"""Downloading the public files of a source."""
