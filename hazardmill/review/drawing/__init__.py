"""How an item is drawn, on the pages of the review app and on those of ``hazardmill view``.

layout.py   an item, ready for its template
steps.py    plans side by side, step by step
templates/  macros that draw the parts of an item
static/     their style sheet, and the script that steps plans and opens tabs

Nothing here needs a server.
"""
