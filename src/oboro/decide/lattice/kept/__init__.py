"""The search where nobody may be suppressed: a node holds with everything coarser, or fails with everything finer."""
