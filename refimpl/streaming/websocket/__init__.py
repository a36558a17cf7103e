"""Streams over WebSocket: each message begins with the number of its channel."""
