"""The training summary of a model that was not trained."""


def training_summary(tasks, dtype="float32"):
    """Return what every model file must say about the training of its model."""
    return {
        "settings": {
            "C": 1.0,
            "loss": "hinge",
            "class_weight": None,
            "fit_intercept": True,
            "tol": 1e-3,
            "max_epochs": 10,
            "dtype": dtype,
            "seed": 0,
        },
        "tasks": {name: {"n": 100, "n_positive": 10} for name in tasks},
        "primal": 1.0,
        "dual": 1.0,
        "duality_gap": 0.0,
        "converged": True,
        "n_epochs": 1,
        "work": 1.0,
        "n_support": 10,
        "history": [],
    }
