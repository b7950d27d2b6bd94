# %% gradient_over_ranks
gradient_over_ranks = (1 + 2 + 3) * 2 * (1 + 2 + 3)


# %% gradient_of_all
def gradient_of_all(grad, count, all_reduce):
    return all_reduce(grad * count) / all_reduce(torch.tensor(float(count)))


# %% all_gather_backward
def all_gather_backward(grad, rank, size, all_reduce):
    return all_reduce(grad).chunk(size)[rank]


# %% clipped_part
def clipped_part(part, all_reduce):
    norm = all_reduce(part.square().sum()).sqrt()
    return part / norm.clamp(min=1.0)
