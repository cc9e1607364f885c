"""Episodes that a person goes through.

judged.py  an episode with its judge
play.py    what a person is shown and asked
"""
