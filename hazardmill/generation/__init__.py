"""From a record to a task: the stages extract, author, execute and judge, and the loop that ties them together."""
