# %% leaf_dragged
leaf_dragged = -2.5

# %% three_uses
three_uses = 12.0


# %% count_paths
def count_paths(node):
    if node.name() == "AccumulateGrad":
        return 1
    return sum(count_paths(following) for following, _ in node.next_functions if following is not None)


# %% walking_order
walking_order = ["AddBackward0", "ExpBackward0", "MulBackward0"]


# %% gradient_by_hand
def gradient_by_hand(a):
    b = 2 * a
    upstream = 1.0
    from_left = upstream * b
    from_right = upstream * b
    return (from_left + from_right) * 2
