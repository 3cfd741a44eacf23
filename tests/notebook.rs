//! Sessions as files, with the whole program: saved, loaded, replayed at the start, exported.
//!
//! The second opinions are `nbformat` (is it valid?), `nbclient` (does it run?) and JupyterLab (how does it look?).

mod cell_text;
mod export;
mod foreign_notebooks;
mod lab;
mod load;
mod open;
mod reference;
mod run;
mod save;
mod startup;
pub mod whole_files;
