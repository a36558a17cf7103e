"""The services of a driver: one object a service, one method an RPC, nothing but translation.

A method gets the request message and the `wire.server.Call`, and returns the reply; refusals come
from the state. Crash points are "<RPC>.before_effect" and "<RPC>.after_effect".
"""
