"""Figures as inline SVG: how they are drawn, and bars."""
