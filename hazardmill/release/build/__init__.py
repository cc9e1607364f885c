"""Building a release from a store and a review."""
