# %% values may_generate
{"a", "d", "e"}  # right
"a, d and e"[:4] + ", e"  # right
["a", "d"]  # 1 more
["a", "b", "d", "e"]  # NumPy
list("acde")  # one number
