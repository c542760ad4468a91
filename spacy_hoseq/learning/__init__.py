"""How linear sequence models learn. Objectives say what the gradient is, update rules what to do with it; any objective
goes with any rule. NumPy only. Gradients are of a loss to be made small: dX = d loss / d X."""
