"""What a task is: its declarative document, read, validated and hashed."""
