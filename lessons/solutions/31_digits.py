# %% digit_surprise
digit_surprise = np.log(4)

# %% digit_zeros
digit_zeros = ["w1", "b1"]


# %% digit_loss
def digit_loss(scores, labels):
    scores = scores - scores.max(1, keepdim=True).values
    right = scores[torch.arange(len(labels)), labels]
    return (scores.exp().sum(1).log() - right).mean()
