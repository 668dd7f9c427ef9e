"""Estimators on features with the interface of scikit-learn."""
