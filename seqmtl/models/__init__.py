"""Train, score, calibrate, save and load multi-task models, without scikit-learn."""
