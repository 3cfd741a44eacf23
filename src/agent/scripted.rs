//! An agent that plays a script: for tests of what stands on the contract.
