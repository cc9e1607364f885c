"""Tasks as folders of the DESPITE benchmark, written and read."""
