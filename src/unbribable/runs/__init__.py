"""Player, world and seed in, records out: specs, games, sweeps."""
