"""Episodes: household tasks carried out one action at a time, by an agent that is told what it sees (SPOC).

| module | what it holds |
| --- | --- |
| options | who acts, what it is told, and how the episodes are judged |
| agents | what the answers of the three agents hold, and how they are read |
| prompts | what an agent is told |
| example | the episode that is shown first, in a room of its own |
| dialogue | one episode with an agent: messages and answers, action by action |
| statements | what an agent expects or states, against the world |
| task_set | the tasks |
| run | asking a model, through the ledger |
| rows | the rows of an episode and of its actions |
| recorded | episodes that a simulator recorded |
| figures, summary | rates over runs, what else is counted, and the files of an evaluation |

``docs/household.md`` has the definitions.
"""
