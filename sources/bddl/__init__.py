"""BDDL: the household activities of BEHAVIOR-1K."""
