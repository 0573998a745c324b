"""Points in, belief out: domains, kernels, and the posterior at every candidate."""
