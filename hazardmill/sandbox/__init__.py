"""Running a task's Python code, which nobody trusts, and keeping nothing of it but a document.

policy.py    what the code may say: readable feedback before anything runs, and no boundary
layers.py    the walls: rlimits, user, network namespace, Landlock, seccomp
walled.py    what goes on behind them: one order, one report
probe.py     what is tried there at start: does any wall leak?
forking.py   the zygote, inside: forks a child a code, its modules loaded already
zygote.py    the same from outside
child.py     a fresh process a code, where no zygote can be had
process.py   the same from outside: started, watched, killed, reaped
output.py    reading what came out, trusting none of it
reports.py   what failed code is reported as, inside
task_child.py  what a child runs for a draft on our authoring module
up_child.py  the same for code on Unified Planning; up_reading.py makes a document of its objects
planner_interface.py  the base class that such code expects
jail.py      the jail: profile, layers, limits
check.py     ``check(code, jail) -> Document | Failure``
"""
