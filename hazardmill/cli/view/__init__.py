"""Looking at stores and releases in a browser."""
