"""Tools for those who work on minigrad: the table of contents, the kernels for a GPU and whether all of them compile."""
