"""Programs in PyTorch's dialect, a module for each theme. Every public function of one argument is a program."""
