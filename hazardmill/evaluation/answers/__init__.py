"""Find plans in the answers of language models, and read plans from files."""
