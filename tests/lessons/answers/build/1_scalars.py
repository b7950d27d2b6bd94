# %% changes Value
# self.parents = tuple(parents) -> self.parents = (*parents,)  # right
# self.value = value -> value = value  # no attribute value
# class Value(Operators): -> class Value:  # does not inherit from Operators
# self.parents = tuple(parents) -> self.parents = parents  # a tuple cannot change later
# self.grad = None -> self.grad = 0.0  # 0 would mean that x has no influence
# self.grad = None -> grad = None  # no attribute grad
# self.number = next(created) -> number = next(created)  # a node has no number
# self.number = next(created) -> self.number = 0  # a later node needs a larger one
# self.number = next(created) -> self.number = -next(created)  # a later node needs a larger one
# self.local_grads = local_grads -> self.local_grads = None  # local_grads is None
# drop self.op = op  # no attribute op
# self.parents = tuple(parents) -> self.parents = tuple(parents) or (self,)  # the parents of a leaf
# self.value = value -> self.value = op  # value is '*'

# %% values add
lambda x, y: Value(value_of(y) + value_of(x), (x, y), "+", [1.0, 1.0])  # right
lambda x, y: value_of(x) + value_of(y)  # a plain number has no memory
lambda x, y: Value(x.value + y.value, (x, y), "+", (1.0, 1.0))  # AttributeError
lambda x, y: Value(value_of(x) + value_of(y), (), "+", (1.0, 1.0))  # they are missing
lambda x, y: Value(value_of(x) + value_of(y), (y, x), "+", (1.0, 1.0))  # they are swapped
lambda x, y: Value(value_of(x) + value_of(y), (value_of(x), value_of(y)), "+", (1.0, 1.0))  # plain numbers have no memory: keep the nodes
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+")  # one number for each parent, here 2
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+", (1.0,))  # one number for each parent, here 2
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+", (value_of(x), value_of(y)))  # those are the values
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+", (value_of(y), value_of(x)))  # as for a product
lambda x, y: Value(value_of(x) - value_of(y), (x, y), "+", (1.0, 1.0))  # the value is
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "*", (1.0, 1.0))  # the picture shows it
lambda x, y: None  # is there a return
lambda x, y: add(x, y)  # RecursionError

# %% values mul
lambda x, y: Value(value_of(y) * value_of(x), (x, y), "*", [value_of(y), value_of(x)])  # right
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", (value_of(x), value_of(y)))  # they are swapped
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", (1.0, 1.0))  # those are the ones of a sum
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", (value_of(x) * value_of(y),) * 2)  # that is the result
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", (y, x))  # take its number with value_of
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", value_of(y))  # one number for each parent, here 2
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "*", (value_of(y), value_of(x)))  # the value is
lambda x, y: Value(value_of(x) * value_of(y), (x,), "*", (value_of(y), value_of(x)))  # the parents are not the arguments
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "+", (value_of(y), value_of(x)))  # the picture shows it
lambda x, y: Value(x * value_of(y), (x, y), "*", (value_of(y), value_of(x)))  # take the numbers with value_of
lambda x, y: value_of(x) * value_of(y)  # a plain number has no memory
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", (-value_of(y), value_of(x)))  # differentiate the formula again

# %% values tanh
lambda x: Value(np.tanh(value_of(x)), [x], "tanh", [1 - np.tanh(value_of(x)) ** 2])  # right
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (1 - np.tanh(value_of(x)),))  # the square is missing
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (1 - value_of(x) ** 2,))  # take the result, not x
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (np.tanh(value_of(x)),))  # as for exp
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (1 + np.tanh(value_of(x)) ** 2,))  # the sign is wrong
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (1 - np.tanh(value_of(x)) ** 2))  # one number for each parent, here 1
lambda x: Value(np.tan(value_of(x)), (x,), "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # the value is
lambda x: Value(np.tanh(value_of(x)), x, "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # TypeError
lambda x: Value(np.tanh(value_of(x)), (value_of(x),), "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # plain numbers have no memory
lambda x: np.tanh(value_of(x))  # a plain number has no memory
lambda x: Value(np.tanh(value_of(x)), (x,), "exp", (1 - np.tanh(value_of(x)) ** 2,))  # the picture shows it
lambda x: Value(np.tanh(x), (x,), "tanh", (1.0,))  # TypeError

# %% wrong slope: each use contributes: add
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return max((d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ())), key=abs, default=0.0)

# %% wrong slope: the slope of x + 1 is
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     total = 1.0
# +     for parent, d in zip(out.parents, out.local_grads or ()):
# +         total *= d * slope(parent, x)
# +     return total if out.parents else 0.0

# %% wrong slope: the slope of x + 1 is 2
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(d + slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()) if isinstance(parent, Value))

# %% wrong slope: two leaves
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ())) if out.parents else 1.0

# %% wrong slope: AttributeError
# -     if not isinstance(out, Value):
# -         return 0.0

# %% wrong slope: the slope of x + 1
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(parent.value * slope(parent, x) for parent in out.parents if isinstance(parent, Value))

# %% wrong slope: is there a loop without end
#           return 1.0
# +     while out is not x:
# +         pass

# %% changes slope
# if out is x: -> if x is out:  # right
# return 1.0 -> return 0.0  # of x with respect to itself
# return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
#   -> return sum(slope(parent, x) for parent in out.parents)  # multiply by the local derivative
# return sum -> sum  # is None: is there a return
# sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ())) -> slope(out, x)  # never ends
# return 1.0 -> return np.ones(3)  # expected a plain number
# return 1.0 -> x.value = 0.0; return 1.0  # slope only reads the graph
