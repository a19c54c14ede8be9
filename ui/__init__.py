"""The console: reads a run's files through ``memory``'s readers and never writes a run's state."""
