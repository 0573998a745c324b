"""Algorithm times world times seed to a record: simulation, specs, sweeps."""
