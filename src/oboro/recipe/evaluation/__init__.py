"""What only the evaluation of a release needs: promises that are named, attacks on concealed releases."""
