"""What is claimed about speed, measured beside what it is compared with."""
