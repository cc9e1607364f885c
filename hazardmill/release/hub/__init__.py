"""Pushing a release to a hub and checking what arrived."""
