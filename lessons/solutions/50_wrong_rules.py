# %% may_generate
may_generate = ["a", "d", "e"]
