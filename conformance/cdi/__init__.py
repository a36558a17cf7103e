"""Cases for CDI (CDI-*): documents, directories, and what devices change in a container."""
