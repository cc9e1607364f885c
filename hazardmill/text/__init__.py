"""Text in and out: numbers and names read strictly, and any text made fit to print."""
