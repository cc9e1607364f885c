"""NEISS: injuries seen in emergency departments of the United States."""
