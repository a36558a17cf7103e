"""What exec, attach and port-forward speak once a runtime has handed out a URL."""
