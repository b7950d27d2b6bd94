"""Pictures of a program that several processes run together: one record of all ranks, in which each has a lane.

`start` lets mpiexec start the processes, `collect` brings their records to rank 0, and `merge` makes one record of them, in
which ranks that do the same share a lane.  `travelling` writes the cards of collectives and messages, `side_by_side` places
the cards in lanes.  `timeline` shows when each rank computes, waits and communicates.  `called` draws a function that
`distributed.run` calls.
"""
