# %% values nested_keywords
(3, 2)  # right
torch.tensor([3, 2])  # right
[2, 2]  # eps has a position
[3, 1]  # passed by keyword
[1, 1]  # position of its parameter
[4, 2]  # ctx does not count
[3, 3]  # None for eps
[2, 3]  # swapped
[3]  # expected 2 numbers
3  # expected 2 numbers
"three"  # list of 2 numbers
[5, 2]  # is not right


# %% right NestedPolar
class NestedPolar(NestedIOFunction):
    def forward_extended(self, point, name):
        r, phi = point["r"], point["phi"]
        self.save_for_forward(r, phi)
        return {"x": r * phi.cos(), "y": r * phi.sin(), "name": name}

    @staticmethod
    def jvp(ctx, tangents, name_tangent):
        r, phi = ctx.saved_tensors
        x = tangents["r"] * phi.cos() - r * phi.sin() * tangents["phi"]
        y = tangents["r"] * phi.sin() + r * phi.cos() * tangents["phi"]
        return {"x": x, "y": y, "name": None}


# %% wrong NestedPolar: the tangents of x and y are swapped
# -         x = tangents["r"] * phi.cos() - r * phi.sin() * tangents["phi"]
# -         y = tangents["r"] * phi.sin() + r * phi.cos() * tangents["phi"]
# -         return {"x": x, "y": y, "name": None}
# +         c, s = phi.cos(), phi.sin()
# +         dr, dphi = tangents.values()
# +         return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}

# %% wrong NestedPolar: the tangent of x
# -         dr, dphi = tangents.values()
# -         return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}
# +         dphi, dr = tangents.values()
# +         return {"y": s * dr + r * c * dphi, "x": c * dr - r * s * dphi, "name": None}


# %% wrong NestedPolar: NestedIOFunction
class NestedPolar(torch.autograd.Function):
    @staticmethod
    def forward(ctx, point):
        return {"x": point["r"] * point["phi"].cos(), "y": point["r"] * point["phi"].sin()}


# %% changes NestedPolar
# dphi, dr = tangents.values() -> dr, dphi = tangents.values()  # right
# phi.cos() - r -> phi.cos() + r  # the tangent of x at r = 2, phi = 0.5, with the tangents 0 and 3
# return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}
#   -> return {"y": s * dr + c * dphi, "x": c * dr - s * dphi, "name": None}  # the tangent of x
# return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}
#   -> return {"y": s * dr, "x": c * dr, "name": None}  # the tangent of x
# dphi, dr = tangents.values() -> dr, dphi = tangents.values()
#   s * dr -> c * dr  # the tangent of y
# return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}
#   -> return {"y": s + r * c, "x": c - r * s, "name": None}  # the tangent of x
# return {"x": s * dr + r * c * dphi, "y": c * dr - r * s * dphi, "name": None}
#   -> return {"x": c * dr - r * s * dphi}  # y has no tangent
# dphi, dr = tangents.values() -> dr, dphi = tangents.values()
#   s * dr + r * c * dphi -> None  # y has no tangent
# return {"x": r * phi.cos(), "y": r * phi.sin(), "name": name}
#   -> return {"x": r * phi.sin(), "y": r * phi.cos(), "name": name}  # the result 'x'
# c, s = phi.cos(), phi.sin() -> c, s = phi.cos(), tangents["s"]
#   dphi, dr = tangents.values() -> dr, dphi = tangents.values()  # KeyError


# %% right NestedClamp
class NestedClamp(NestedIOFunction):
    def forward_extended(self, tensors):
        self.kept = {name: (t.abs() <= 1).float() for name, t in tensors.items()}
        self.mark_dirty(*tensors.values())
        self.mark_non_differentiable(*self.kept.values())
        for t in tensors.values():
            t.clamp_(-1, 1)
        return [tensors, self.kept]

    def backward_extended(self, grads, _):
        return ({name: g * self.kept[name] for name, g in grads.items()},)


# %% wrong NestedClamp: another tensor than the input
# -         for t in tensors.values():
# -             t.clamp_(-1, 1)
# -         self.mark_dirty(tensors)
# +         tensors = {name: t.clamp(-1, 1) for name, t in tensors.items()}

# %% changes NestedClamp
# g * kept[name] -> torch.where(kept[name] == 1, g, torch.zeros_like(g))  # right
# drop self.mark_dirty(tensors)  # without ctx.mark_dirty
# return ({name: g * kept[name] for name, g in grads.items()},) -> return (grads,)  # gradient of 'a'
# name: g -> name: 1.0  # gradient of 'a'
# kept[name] -> (1 - kept[name])  # gradient of 'a'
# {name: g * kept[name] for name, g in grads.items()} -> {"a": grads["a"] * kept["a"]}  # 'b' gets no gradient
# return tensors, kept -> return tensors  # expected two dicts
# t.abs() <= 1 -> t.abs() < 1  # kept['a']
# drop kept = {name: (t.abs() <= 1).float() for name, t in tensors.items()}
#   self.mark_dirty(tensors)
#   -> kept = {name: (t.abs() <= 1).float() for name, t in tensors.items()}; self.mark_dirty(tensors)  # kept['a']
# drop self.mark_non_differentiable(kept)  # requires grad
