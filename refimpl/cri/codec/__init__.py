"""Between the messages of `api` and the records of `state`; a module a topic."""
