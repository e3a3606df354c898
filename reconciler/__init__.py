"""Time and effects: the loop, the transactions, the reports and every process that users start."""
