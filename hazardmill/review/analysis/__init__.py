"""Figures of a review: rates, agreement, and the judge beside reviewers."""
