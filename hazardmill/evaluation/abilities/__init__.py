"""Three abilities that planning safely takes, asked about separately from planning."""
