"""Measure time, memory and their growth, and compare them with other libraries: `make bench`.

environment.py gives every library one thread, peers.py names the libraries, case.py defines a case and cases/ lists them.
measure.py takes times in turns; growth.py, memory.py, peak.py and startup.py measure more than a single time.
page.py and plots.py make docs/performance.md from the results.  compare_commits.py compares small cases with an earlier
commit, and counts.py counts things that do not depend on the machine, for the tests.
"""
