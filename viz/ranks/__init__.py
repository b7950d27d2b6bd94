"""Pictures of a program that several processes run together: one record of all ranks, in which each has a lane.

`start` lets mpiexec start the processes, `collect` brings their records to rank 0, `merge` makes one of them, in which ranks
that do the same share a lane.  What several lanes do together lies across them: `bars` are its cards, and `side_by_side` places
lanes.  `timeline` shows when each rank computes, waits and communicates.
"""
