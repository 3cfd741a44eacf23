//! The kernel of Jupyter, as real clients see it: the conformance tests of Jupyter, `nbclient`, `jupyter console`,
//! JupyterLab in a browser, a client of its reference library, and our own.

mod agents;
mod clients;
mod conversations;
mod harness;
mod install;
mod lab;
