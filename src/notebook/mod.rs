//! Notebook files as values (stands empty until the notebook issue).
