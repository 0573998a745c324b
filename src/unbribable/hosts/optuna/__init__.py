"""Optuna's trials in, the next parameters out; nothing here is loaded unless it is asked for by name."""
