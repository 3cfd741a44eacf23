//! Settings: what the file, the environment and the command line say, resolved once.
