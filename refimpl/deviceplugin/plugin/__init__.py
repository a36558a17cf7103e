"""Parts of the fake device plugin: devices, service, registration, personas."""
