"""The suite of container runtimes and of clients that call them."""
