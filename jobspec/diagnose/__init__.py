"""From the log of a failed job to the first rank that failed, the cause and the fix.

``sources`` find and read the logs, ``engine`` and ``scan`` find the lines that signatures (data, in ``signatures/``)
know, ``anatomy`` reads who wrote a line and when, ``judge`` tells cause from consequence.
"""
