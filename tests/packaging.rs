//! What is handed out: the wheel, and the licences of the libraries in it.

mod licences;
mod wheel;
