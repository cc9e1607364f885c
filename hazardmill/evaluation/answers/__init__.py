"""Plans found in what a model answered."""
