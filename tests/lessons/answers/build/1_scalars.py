# %% right Value
# -         self.parents = tuple(parents)
# +         self.parents = (*parents,)


# %% wrong Value: no attribute value
# -         self.value = value
# +         value = value


# %% wrong Value: does not inherit from Operators
# - class Value(Operators):
# + class Value:


# %% wrong Value: a tuple cannot change later
# -         self.parents = tuple(parents)
# +         self.parents = parents


# %% wrong Value: 0 would mean that x has no influence
# -         self.grad = None
# +         self.grad = 0.0


# %% wrong Value: no attribute grad
# -         self.grad = None
# +         grad = None


# %% wrong Value: a node has no number
# -         self.number = next(created)
# +         number = next(created)


# %% wrong Value: a later node needs a larger one
# -         self.number = next(created)
# +         self.number = 0


# %% wrong Value: a later node needs a larger one
# -         self.number = next(created)
# +         self.number = -next(created)


# %% wrong Value: local_grads is None
# -         self.local_grads = local_grads
# +         self.local_grads = None


# %% wrong Value: no attribute op
# -         self.op = op


# %% wrong Value: the parents of a leaf
# -         self.parents = tuple(parents)
# +         self.parents = tuple(parents) or (self,)


# %% wrong Value: value is '*'
# -         self.value = value
# +         self.value = op


# %% values add
lambda x, y: Value(value_of(y) + value_of(x), (x, y), "+", [1.0, 1.0])  # right
lambda x, y: value_of(x) + value_of(y)  # a plain number has no memory
lambda x, y: Value(x.value + y.value, (x, y), "+", (1.0, 1.0))  # AttributeError
lambda x, y: Value(value_of(x) + value_of(y), (), "+", (1.0, 1.0))  # they are missing
lambda x, y: Value(value_of(x) + value_of(y), (y, x), "+", (1.0, 1.0))  # they are swapped
lambda x, y: Value(value_of(x) + value_of(y), (value_of(x), value_of(y)), "+", (1.0, 1.0))  # plain numbers have no memory: keep the nodes
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+")  # expected a tuple with 2 numbers
lambda x, y: Value(value_of(x) + value_of(y), (x, y), "+", (1.0,))  # expected a tuple with 2 numbers
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
lambda x, y: Value(value_of(x) * value_of(y), (x, y), "*", value_of(y))  # expected a tuple with 2 numbers
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
lambda x: Value(np.tanh(value_of(x)), (x,), "tanh", (1 - np.tanh(value_of(x)) ** 2))  # expected a tuple with 1 numbers
lambda x: Value(np.tan(value_of(x)), (x,), "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # the value is
lambda x: Value(np.tanh(value_of(x)), x, "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # TypeError
lambda x: Value(np.tanh(value_of(x)), (value_of(x),), "tanh", (1 - np.tanh(value_of(x)) ** 2,))  # plain numbers have no memory
lambda x: np.tanh(value_of(x))  # a plain number has no memory
lambda x: Value(np.tanh(value_of(x)), (x,), "exp", (1 - np.tanh(value_of(x)) ** 2,))  # the picture shows it
lambda x: Value(np.tanh(x), (x,), "tanh", (1.0,))  # TypeError


# %% right slope
# -     if out is x:
# +     if x is out:


# %% wrong slope: of x with respect to itself
# -         return 1.0
# +         return 0.0


# %% wrong slope: multiply by the local derivative
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(slope(parent, x) for parent in out.parents)


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


# %% wrong slope: is None: is there a return
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))


# %% wrong slope: two leaves
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ())) if out.parents else 1.0


# %% wrong slope: never ends
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return slope(out, x)


# %% wrong slope: AttributeError
# -     if not isinstance(out, Value):
# -         return 0.0


# %% wrong slope: the slope of x + 1
# -     return sum(d * slope(parent, x) for parent, d in zip(out.parents, out.local_grads or ()))
# +     return sum(parent.value * slope(parent, x) for parent in out.parents if isinstance(parent, Value))


# %% wrong slope: is there a loop without end
# -     if not isinstance(out, Value):
# +     while out is not x:
# +         pass
# +     if not isinstance(out, Value):


# %% wrong slope: expected a plain number
# -     if out is x:
# -         return 1.0
# +     if out is x:
# +         return np.ones(3)


# %% wrong slope: slope only reads the graph
# -     if out is x:
# -         return 1.0
# +     if out is x:
# +         x.value = 0.0
# +         return 1.0
