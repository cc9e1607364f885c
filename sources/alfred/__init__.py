"""ALFRED: household instructions in people's own words, with the plan of an expert."""
