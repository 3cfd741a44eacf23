//! The only wiring: surroundings and settings in, a running session out.
