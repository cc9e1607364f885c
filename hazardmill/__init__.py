"""hazardmill: public records in, proved robot-safety planning tasks out."""

__version__ = "0.1.0"
