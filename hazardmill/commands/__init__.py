"""The commands, one module each, imported by ``hazardmill.cli`` when called."""
