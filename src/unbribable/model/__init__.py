"""Points to belief: domains, kernels, the posterior."""
