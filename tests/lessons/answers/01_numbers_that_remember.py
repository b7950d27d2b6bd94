# %% values leaf_dragged
-2.5  # right
[-2.5]  # right
-2.51  # not right
-5.0  # that is the gradient
2.5  # with this value the gradient is 5
6.25  # that is the value of b

# %% values three_uses
12  # right
torch.tensor(12.0)  # right
4.0  # one of the three
8  # value
6.0  # not right

# %% values count_paths
lambda node: (
    1 if not node.next_functions else sum(count_paths(n) for n, _ in node.next_functions if n is not None)
)  # right


# %% right count_paths
def count_paths(node):
    waiting, found = [node], 0
    while waiting:
        node = waiting.pop()
        found += node.name() == "AccumulateGrad"
        waiting += [n for n, _ in node.next_functions if n]
    return found


# %% wrong count_paths: 4 paths
def count_paths(node):
    return len(node.next_functions)


# %% wrong count_paths: 3 paths of different lengths
# -     return sum(count_paths(following) for following, _ in node.next_functions if following is not None)
# +     known = [following for following, _ in node.next_functions if following is not None]
# +     return len(known) * count_paths(known[0])

# %% changes count_paths
# return sum(count_paths(following) for following, _ in node.next_functions if following is not None)
#   -> return sum(count_paths(following) for following, _ in node.next_functions)  # NoneType
# return len(node.next_functions) -> sum(1 for following, _ in node.next_functions)  # returns None

# %% values walking_order
("AddBackward0", "ExpBackward0", "MulBackward0")  # right
[node.name() for node in (y.grad_fn, y.grad_fn.next_functions[1][0])] + ["MulBackward0"]  # right
["MulBackward0", "ExpBackward0", "AddBackward0"]  # forward
["ExpBackward0", "AddBackward0", "MulBackward0"]  # before the gradient from
["AddBackward0", "MulBackward0"]  # each of them once
["AddBackward0", "MulBackward0", "ExpBackward0"]  # MulBackward0 before ExpBackward0

# %% values gradient_by_hand
lambda a: 2 * (2 * a) * 2  # right


# %% right gradient_by_hand
def gradient_by_hand(a):
    return 8 * a


# %% wrong gradient_by_hand: runs autograd (backward)
@torch.enable_grad()
def gradient_by_hand(a):
    a = a.detach().requires_grad_()
    ((2 * a) * (2 * a)).backward()
    return a.grad


# %% changes gradient_by_hand
# return 8 * a -> return 2 * (2 * a)  # expected 8
# return 8 * a -> b = 2 * a; (b + b) * 2  # return
# return 8 * a -> return "8a"  # expected numbers
# 8 * a -> torch.func.jvp(lambda a: (2 * a) * (2 * a), (a,), (torch.ones_like(a),))[1]  # runs autograd (forward mode)
