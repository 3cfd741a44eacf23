//! What is handed out: the wheel, the program without libraries, and the licences of the libraries in it.

mod licences;
mod static_program;
mod wheel;
