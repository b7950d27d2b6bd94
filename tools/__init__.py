"""Developer tools: the table of contents, and the build of all GPU kernels, to check that they compile."""
