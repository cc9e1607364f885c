"""The commands, one module each, imported by ``hazardmill.cli.main`` when called."""
