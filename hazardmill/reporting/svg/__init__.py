"""Figures as inline SVG: one style of drawing, axes, bars and Sankey diagrams."""
