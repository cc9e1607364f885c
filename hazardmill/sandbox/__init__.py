"""Running a task's Python code, which nobody trusts, and keeping nothing of it but a document.

policy.py    what the code may say: readable feedback before anything runs, and no boundary
layers.py    the walls: rlimits, user, network namespace, Landlock, seccomp
child.py     what runs inside them: one draft, one report
probe.py     what runs inside them at start: does any wall leak?
process.py   a child process from outside: started, watched, killed, reaped
reports.py   what failed code is reported as, inside
output.py    reading what came out, trusting none of it
forking.py   the process inside that forks a child a code, its modules loaded already
zygote.py    the same from outside
up_child.py  what such a child runs for code on Unified Planning; up_reading.py makes a document of its objects
planner_interface.py  the base class that such code expects
jail.py      the jail: profile, layers, limits
check.py     ``check(code, jail) -> Document | Failure``
"""
