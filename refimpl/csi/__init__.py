"""Container Storage Interface: both sides of the calls between an orchestrator and a driver.

`state` decides, `services` put it on the wire, `fake.FakeDriver` starts a whole driver, `profiles`
names ready sets of choices. Revisions 1.12 and 1.13 share one set of generated types in `api`.
"""
