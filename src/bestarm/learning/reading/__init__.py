"""Past results, from files, databases and data frames to the sums of each arm."""
