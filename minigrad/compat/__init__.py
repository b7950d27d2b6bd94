"""Programs written for PyTorch, run as they stand: `import torch` gives minigrad while `as_torch()` holds."""
