"""What plugins read and write, and who judges them reads: versions, results, errors, addresses.

The standard library alone: fake plugins carry it in their files, and a start costs milliseconds.
"""
