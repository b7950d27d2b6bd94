"""Pictures of a program that several processes run: one record of all ranks, with a lane for each.

`start` starts the processes with mpiexec, `collect` gathers their records on rank 0, and `merge` combines them into one
record, in which equal ranks share a lane.  `travelling` writes the cards of collectives and messages, `side_by_side` places
the cards in lanes.  `timeline` shows when each rank computes, waits and communicates.  `called` has `draw_ranks`, which
draws a function that `distributed.run` calls.
"""
