"""Privacy models as a released table is judged by them: one class a model, with what it asks of every equivalence class."""
