//! Child processes: started in their own session or group, drained, ended whole.
