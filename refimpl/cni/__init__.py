"""The Container Network Interface: contract, runtime, fake plugins and the machine they work on."""
