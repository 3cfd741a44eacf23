//! JSON-RPC over a child process: message types, a table of pending ids, and the threads that pump.
