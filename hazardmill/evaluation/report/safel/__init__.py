"""SAFEL results in the report: figures by model and kind, labels of plans, and labels by hazard.

load.py     reading rows and summaries, and the figures of every model, computed once
marks.py    rows of marks with intervals, on one axis
refusal.py  recalls of command refusal, and over-refusal
ratios.py   goal interpretation and transition modelling
labels.py   labels of plans by model, and by hazard
words.py    names of tests, kinds and counts, and the cells that all tables share
section.py  the section of the report, and its JSON file
"""
