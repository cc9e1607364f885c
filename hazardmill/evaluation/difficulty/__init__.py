"""How difficult tasks are: for a panel of models, and on their own."""
