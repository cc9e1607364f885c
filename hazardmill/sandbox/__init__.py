"""Running a task's Python code, which nobody trusts, and keeping nothing of it but a document.

| module | process | what it does |
| --- | --- | --- |
| policy, scopes | ours, the prover | what the code may contain: feedback before anything runs, and no boundary |
| check | ours | ``check(code, jail) -> Document | CheckFailure`` |
| jail | ours | profile, layers and limits of the jail |
| output | ours | reads what came out, and trusts none of it |
| process/process | ours | starts, watches, kills and reaps a child |
| process/zygote | ours | the warm parent, seen from outside |
| process/single | ours, then the child | one fresh process per draft, where there is no warm parent |
| process/fork_server | the warm parent | forks one child per draft, with modules loaded already |
| process/isolation | the child | the walls: rlimits, user, network namespace, Landlock, seccomp |
| process/child_main | the child | what happens behind them: one order, one report |
| process/probe | the child | what is tried there at start: does any wall leak? |
| process/reports | the child | how failed code is reported |
| workloads/authoring | the child | runs a draft on our authoring module |
| workloads/planner | the child | runs code on Unified Planning; ``planner_reader`` makes a document of its objects |
| workloads/planner_api | the child | the base class that such code expects |
| proving, workloads/proving | ours, the prover | proofs, and the policy of drafts, in processes that can be killed |
"""
