"""Speed and memory against the peers, as ratios measured in one run."""
