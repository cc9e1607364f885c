"""Incidents in kitchens."""
