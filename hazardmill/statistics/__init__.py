"""Estimates with intervals: proportions, bootstrap, regression, agreement between raters, paired tests."""
