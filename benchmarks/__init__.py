"""How long things take, how much memory they need and how that grows, beside other libraries: `make bench`.

environment.py gives everybody one thread, peers.py names the libraries, case.py says what a case is and cases/ lists them,
measure.py takes the times in turns; growth.py, memory.py, peak.py and startup.py measure what a single time does not tell;
page.py and plots.py make docs/performance.md of it all.  beside.py measures small cases beside an earlier commit, and counts.py
counts what does not depend on the machine, for the tests.
"""
