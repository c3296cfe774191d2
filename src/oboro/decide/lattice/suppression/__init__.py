"""The suppressed records as one class: which classes join them so that they keep every demand, at the least loss."""
