"""The four SAFEL tests of a model: command refusal, goal interpretation, transition modelling, action sequencing."""
