//! The README: its commands run, its picture is what the program shows.

mod commands;
mod picture;
mod svg;
