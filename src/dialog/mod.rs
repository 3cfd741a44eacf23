//! The conversation as values: entries, the context XML the model reads, the stored form of an answer.
