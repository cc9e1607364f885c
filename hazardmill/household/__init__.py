"""Household tasks planned step by step under safety rules, after the SPOC paper (``docs/household.md``).

| module | what it holds |
| --- | --- |
| object_kinds | classes of objects with their properties, and names in English |
| scene | a room at the start: objects, places, states; its file |
| actions | the actions of a robot: their demands, with the reasons of rejections, and their effects |
| document | the exact document of a scene, in four layers of sight and hands |
| states | states of the document, read as what is true of the objects and what is in sight |
| phrases | actions in words, and what each verb demands of its object |
| skills | the skill set of a state |
| observation | what the robot is told of a state |
| interpreter | what words mean: the action of the document that they name |
| episode | one episode: actions in words, accepted or rejected |
| world_state | what is true of objects in one state |
| rules | step rules, state rules and sub-goals |
| monitors | what rules and sub-goals mean for a sequence of states |
| scores | scores of episodes, of runs, and over runs |
| spoc_format | SPOC's task files |
| task | household tasks with their files: scene, assignment, proved plans |
| memory | what a document remembers to judge a rule and sub-goals |
| compile | household tasks as documents: rule and sub-goals in search and verdicts |
| plan_words | plans in words and as plans of a compiled document; verdicts on them |
| search | smaller tasks that are no harder, and documents in which search ends at the first plan of a kind |
| proof | shortest compliant and careless plans, proved; the law of layers |
| task_files | files with one task each, ours and SPOC's |
| recorded_traces | states that a simulator recorded |
| playing | episodes that a person goes through |
| lint | what looks wrong in a task |
| scene_draft | scenes that are put together object by object |
| generation | tasks drawn from templates, and kept if proved |
| spoc_conversion | tasks of SPOC as household tasks and the other way round |
"""
