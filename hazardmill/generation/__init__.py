"""From a record to a task: extract, author, execute, judge, and the loop that ties them."""
