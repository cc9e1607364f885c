"""Prefect flows, which only connect the library's stages, one flow per file."""
