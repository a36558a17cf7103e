"""The process model without processes: containers are scripted programs, and time may be held."""
