"""What each kind of fake plugin does: interface, hostlocal, chained, delegating, recorder."""
