"""The commands, one module each, which ``hazardmill.cli.main`` imports when they are called."""
