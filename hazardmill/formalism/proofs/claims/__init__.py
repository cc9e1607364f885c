"""The claims of a certificate, grouped by what they are about."""
