"""Measure the cost of many processes: minigrad on MPI and PyTorch on gloo, in the same processes: `make bench-ranks`.

__main__.py starts the ranks, and each runs rank.py: reductions.py measures all_reduce, steps.py data-parallel training,
both in the turns of turns.py.  forecast.py fits a cost model to the figures, which predicts the times on more machines.
report.py and curves.py make docs/performance_ranks.md.
"""
