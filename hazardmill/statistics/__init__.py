"""Estimates with their intervals: proportions, bootstrap, regression, agreement, paired tests."""
