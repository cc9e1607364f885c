"""What looks wrong in household tasks.

task_lint.py   as far as text, rule and goals say it without a scene
scene_lint.py  with the scene: what can never be triggered or reached
"""
