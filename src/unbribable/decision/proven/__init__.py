"""What follows from theorems: bounds, certificates, counted lies; numbers and conditions."""
