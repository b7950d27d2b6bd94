# %% values digit_surprise
1.386  # right
-torch.tensor(0.25).log()  # right
-np.log(0.75)  # which probability
np.log(0.25)  # minus the logarithm
1 / 4  # that is the probability
2  # natural

# %% values digit_zeros
("b1", "w1")  # right
{"w1", "b1"}  # right
["w1", "b1", "w2"]  # hidden units
["w1"]  # 1 more
"w1 and b1"  # in a list
["w1", "b1", "b2"]  # gradient of the scores


# %% right digit_loss
def digit_loss(scores, labels):
    return F.cross_entropy(scores, labels)


# %% right digit_loss
def digit_loss(scores, labels):
    log_probabilities = scores.log_softmax(-1)
    return -log_probabilities.gather(1, labels.unsqueeze(1)).mean()


# %% wrong digit_loss: overflows
def digit_loss(scores, labels):
    return (scores.exp().sum(1).log() - scores[torch.arange(len(labels)), labels]).mean()


# %% wrong digit_loss: expected
def digit_loss(scores, labels):
    return F.cross_entropy(scores, labels, reduction="sum")


# %% wrong digit_loss: it gives inf
def digit_loss(scores, labels):
    return -scores.softmax(1)[torch.arange(len(labels)), labels].log().mean()


# %% wrong digit_loss: does not require grad
def digit_loss(scores, labels):
    return F.cross_entropy(scores.detach(), labels)


# %% wrong digit_loss: the result
def digit_loss(scores, labels):
    return scores.logsumexp(1).mean()
