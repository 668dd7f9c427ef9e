"""Where the rooms meet: training, scoring and keeping multi-task models, without scikit-learn."""
