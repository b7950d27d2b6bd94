"""What an operation is made of: Primitive, the families, the table of operations, and the methods of Tensor made from it."""
