"""Fake servers, the offline author, and test cases of sources, for our tests and our users'."""
