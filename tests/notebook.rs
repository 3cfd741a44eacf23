//! Sessions as files, with the whole program: saved, loaded, replayed at the start, exported.
//!
//! The second opinions are `nbformat` (is it valid?) and `nbclient` (does it run?).

mod edited;
mod export;
mod judge;
mod load;
mod open;
mod run;
mod save;
mod startup;
mod strangers;
