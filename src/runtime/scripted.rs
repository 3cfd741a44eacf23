//! A runtime that plays a script: for tests, and the proof that the contract needs no Python.
