"""What many processes cost: minigrad on MPI beside PyTorch on gloo, in the same processes: `make bench-ranks`.

__main__.py starts the ranks, and rank.py is what each of them does: reductions.py measures all_reduce, steps.py data-parallel
training, both in the turns of turns.py.  forecast.py fits a model of the cost to the figures, which says what to expect of more
machines; report.py and curves.py make docs/performance_ranks.md.
"""
