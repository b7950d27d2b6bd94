"""Everything that finds, explains and reports mistakes: a file for each kind."""
