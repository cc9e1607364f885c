"""What is proved of a task: its certificate, claim by claim."""
