"""Rules that a request has to keep whatever the state is: from messages to Refused; a module a
topic."""
