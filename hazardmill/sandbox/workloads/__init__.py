"""What runs inside the jail, one module per kind of work."""
