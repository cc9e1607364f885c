"""What planning safely takes: questions about dangers, conditions and alternatives."""
