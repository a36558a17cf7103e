"""The reference vectors of device placement: read, asked, and played on a client."""
