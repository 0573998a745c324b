"""The practitioner's doors: one call, and what every other loop needs."""
