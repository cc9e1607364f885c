"""Prefect flows: thin wiring of the library's stages, one flow a file."""
