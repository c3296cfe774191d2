"""One line of numbers, cut into intervals: Hansen–Mukherjee and histograms by AIC and BIC."""
