"""What a task means: transitions, plan verdicts, safety intention, and explanations of both."""
