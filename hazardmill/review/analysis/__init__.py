"""Figures of a review: rates, agreement, and the judge compared with reviewers."""
