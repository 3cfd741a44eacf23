//! Sessions as files, with the whole program: saved, loaded, replayed at the start, exported.
//!
//! The second opinions are `nbformat` (is it valid?), `nbclient` (does it run?) and JupyterLab (how does it look?).

mod edited;
mod export;
mod judge;
mod lab;
mod load;
mod open;
mod run;
mod save;
mod startup;
mod strangers;
