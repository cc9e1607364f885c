"""Releases: from the store to a dataset that people load, check and cite.

| module | what it holds |
| --- | --- |
| build/ | gathers candidates from the store at one moment, judges them by the gates, writes, renames |
| gates/ | what stops a release |
| texts/ | card, citation, Croissant, licences, changelog, figures |
| manifest | what a release is made of, and each file's hash |
| diff/ | two releases held against one another |
| hub/ | pushing one, in one commit, and checking what arrived |
| read/ | a release read back, and what planners are trained on |
"""
