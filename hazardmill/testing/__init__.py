"""Fakes and factories for our tests and our users'."""
