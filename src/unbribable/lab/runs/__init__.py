"""Player, world and seed in, records out.

A TOML spec (`spec`) names kinds of players, adversaries, objectives and kernels (`kinds`, built by
`roles`) and stands for a list of runs (`experiment`). `simulate` plays one game, `play` one run into
one file, `sweep` all of them, here or on Dask (`cluster`).
"""
