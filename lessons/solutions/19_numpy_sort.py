# %% sorting_gradient
sorting_gradient = [3.0, 1.0, 4.0, 2.0]


# %% inverse_permutation
def inverse_permutation(ind):
    inverse = np.empty_like(ind)
    inverse[ind] = np.arange(len(ind))
    return inverse


# %% keeps_graph
keeps_graph = ["b", "c", "e"]
