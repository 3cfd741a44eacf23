//! `%ipycodex` commands, one file each.
