# %% right three_uses
three_uses = 12

# %% right three_uses
three_uses = torch.tensor(12.0)

# %% right three_uses
a = torch.tensor(2.0, requires_grad=True)
(a * a * a).backward()
three_uses = a.grad

# %% wrong three_uses: one of the three
three_uses = 4.0

# %% wrong three_uses: value
three_uses = 8

# %% wrong three_uses: not right
three_uses = 6.0

# %% right three_uses
import numpy as np

three_uses = np.array([12.0])

# %% right count_paths
count_paths = lambda node: (
    1 if not node.next_functions else sum(count_paths(n) for n, _ in node.next_functions if n is not None)
)


# %% right count_paths
def count_paths(node):
    waiting, found = [node], 0
    while waiting:
        node = waiting.pop()
        found += node.name() == "AccumulateGrad"
        waiting += [n for n, _ in node.next_functions if n]
    return found


# %% right count_paths
def count_paths(node):
    total = 0
    for following, _ in node.next_functions:
        if following is None:
            continue
        total += 1 if following.name().startswith("Accumulate") else count_paths(following)
    return total


# %% wrong count_paths: 4 paths
def count_paths(node):
    return len(node.next_functions)


# %% wrong count_paths: NoneType
# -     return sum(count_paths(following) for following, _ in node.next_functions if following is not None)
# +     return sum(count_paths(following) for following, _ in node.next_functions)


# %% wrong count_paths: returns None
def count_paths(node):
    sum(1 for following, _ in node.next_functions)


# %% right walking_order
walking_order = ("AddBackward0", "ExpBackward0", "MulBackward0")

# %% right walking_order
walking_order = [node.name() for node in (y.grad_fn, y.grad_fn.next_functions[1][0])] + ["MulBackward0"]

# %% right walking_order
walking_order = "AddBackward0 ExpBackward0 MulBackward0".split()

# %% wrong walking_order: forward
walking_order = ["MulBackward0", "ExpBackward0", "AddBackward0"]

# %% wrong walking_order: before the gradient from
walking_order = ["ExpBackward0", "AddBackward0", "MulBackward0"]

# %% wrong walking_order: each of them once
walking_order = ["AddBackward0", "MulBackward0"]

# %% right walking_order
import numpy as np

walking_order = np.array(["AddBackward0", "ExpBackward0", "MulBackward0"])

# %% wrong walking_order: MulBackward0 before ExpBackward0
walking_order = ["AddBackward0", "MulBackward0", "ExpBackward0"]


# %% right gradient_by_hand
def gradient_by_hand(a):
    return 8 * a


# %% right gradient_by_hand
gradient_by_hand = lambda a: 2 * (2 * a) * 2


# %% right gradient_by_hand
def gradient_by_hand(a):
    b = 2 * a
    return 2 * b + 2 * b


# %% wrong gradient_by_hand: expected 8
def gradient_by_hand(a):
    return 2 * (2 * a)


# %% wrong gradient_by_hand: return
def gradient_by_hand(a):
    b = 2 * a
    (b + b) * 2


# %% wrong gradient_by_hand: expected numbers
def gradient_by_hand(a):
    return "8a"


# %% wrong gradient_by_hand: do not call backward
def gradient_by_hand(a):
    a = a.detach().requires_grad_()
    ((2 * a) * (2 * a)).backward()
    return a.grad
