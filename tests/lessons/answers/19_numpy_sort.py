# %% values sorting_gradient
(3, 1, 4, 2)  # right
np.argsort(np.argsort([30.0, 10.0, 40.0, 20.0])) + 1  # right
[2.0, 4.0, 1.0, 3.0]  # ind_inv
[1.0, 2.0, 3.0, 4.0]  # another order
[2, 0, 3, 1]  # the weights at these positions
4.0  # expected 4 numbers

# %% values inverse_permutation
np.argsort  # right
lambda ind: np.array([list(ind).index(k) for k in range(len(ind))])  # right


# %% wrong inverse_permutation: in reverse
def inverse_permutation(ind):
    return ind[::-1]


# %% wrong inverse_permutation: same permutation
# -     inverse[ind] = np.arange(len(ind))
# +     for k in range(len(ind)):
# +         inverse[k] = ind[k]


# %% wrong inverse_permutation: the inverse
def inverse_permutation(ind):
    return ind[ind]  # the inverse where no cycle is longer than three


# %% changes inverse_permutation
# return ind[::-1] -> np.argsort(ind)  # return

# %% values keeps_graph
{"b", "c", "e"}  # right
"b, c, e"  # right
["b", "e"]  # 1 more
["a", "b", "c", "e"]  # detached values
list("bcde")  # permutation
"b"  # expected several answers
