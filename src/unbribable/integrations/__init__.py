"""Other people's loops in, our advice out: Optuna."""
