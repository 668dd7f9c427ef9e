"""Multi-task SVMs as scikit-learn classifiers: with a given, a selected or a learnt task kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from numpy.typing import ArrayLike

from seqmtl.estimators._base import (
    MultiTaskClassifier,
    search_space,
    store_fit,
)
from seqmtl.estimators._examples import feature_map
from seqmtl.sequences.examples import Examples
from seqmtl.training.settings import COSTS, Settings


@dataclass(eq=False, repr=False)
class MultiTaskSVC(MultiTaskClassifier):
    """Support vector machine for several related tasks, for strings or numbers.

    Solves min 1/2 sum_{s,t} Q[s,t] <w_s, w_t> + sum_i C_i loss(y_i f_{t_i}(x_i)), where Q is the
    inverse of the task kernel, by dual coordinate descent to a certified duality gap (Widmer,
    Kloft, Goernitz, Raetsch 2012, eq. 8); where there are few features, second-order steps complete
    it. With one task this is the linear SVM. The solver is :func:`seqmtl.core.solver.solve`.

    Parameters
    ----------
    features : FeatureDefinition or str, optional
        Feature map, or its description, such as "wd:5". Default: ``PositionalKmers()`` for DNA,
        around the site that :class:`~seqmtl.Windows` tell or the middle; the identity for matrices.
    task_kernel : TaskKernel, {"individual", "union", "easy"}, str, path-like or array, optional
        Task kernel; the name of a shipped tree; the file of a tree or a table. An array is in the
        order of the sorted task names, a data frame labelled with them. The M of the paper,
        (I + L)^-1 of a graph A, is ``TaskKernel.graph(A, names)``. Default: K = (11' + 3 I) / 4,
        that is ``TaskKernel.easy(names, 0.25)``; "easy" has the share 0.5.
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.

    Attributes
    ----------
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        Task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights; of k-mers, for counts times the factors in "Features".
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of passes over the training data, rounded up, 1 or more.
    history_ : list of dict
        Epoch, work, gap and number of active examples at every full check of the problem.
    model_ : MultiTaskModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskSVC
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> MultiTaskSVC().fit(X, y, tasks=["a", "a", "b", "b"]).predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    C: float = 1.0


@dataclass(eq=False, repr=False)
class MultiTaskClassifierCV(MultiTaskClassifier):
    """Support vector machine for several tasks that selects by cross-validation what they share.

    This is the default of ``seqmtl train``. For each task it selects the trust in its relatives,
    between one SVM per task and one for all, and the cost. The hyperparameters are averages
    weighted by held-out log-likelihood (see :mod:`seqmtl.training.selection`). A final
    :class:`~seqmtl.MultiTaskSVC` is trained with them on all examples.

    Parameters
    ----------
    features : FeatureDefinition or str, optional
        Feature map, or its description, such as "wd:5". Default: of :class:`~seqmtl.Windows`, what
        is best of ``PositionalKmers()`` and others, see
        :func:`seqmtl.training.site_detection.default_kinds`; of matrices, the identity.
    task_kernel : TaskKernel, str, path-like or array, optional
        Relation of the tasks; the name of a shipped tree; the file of a tree or a table. An array
        is in the order of the sorted task names, a data frame labelled with them. It is tried
        along with treating all tasks as alike, the default.
    costs : sequence of float, default=(1.0, 3.0, 10.0)
        Costs to choose from.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the folds and the visiting order.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on the cost by class.
    fit_intercept : bool, default=True
        Append a constant feature, regularised and coupled like any other.

    Attributes
    ----------
    selection_ : dict
        The selection: by task in "tasks" the "trust", "C", and the "weights" of the trust values.
    C_ : float
        The cost that was chosen.
    classes_ : ndarray, shape (2,)
        Class labels.
    tasks_ : tuple of str
        Tasks, sorted by name.
    task_kernel_ : TaskKernel
        The selected task kernel.
    coef_ : ndarray, shape (n_tasks, n_features)
        Weights; of k-mers, for counts times the factors in "Features".
    intercept_ : ndarray, shape (n_tasks,)
        Intercepts.
    dual_coef_ : ndarray, shape (n,)
        Dual variables alpha.
    dual_gap_ : float
        Relative duality gap.
    n_iter_ : int
        Number of passes over the training data, rounded up, 1 or more.
    history_ : list of dict
        Epoch, work, gap and number of active examples at every full check of the problem.
    model_ : MultiTaskModel
        The fitted model; ``model_.save(path)`` saves it.
    n_features_in_ : int
        Numbers, or bases, per example.

    Examples
    --------
    >>> from seqmtl import MultiTaskClassifierCV
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]] * 3, [0, 1, 0, 1] * 3
    >>> svc = MultiTaskClassifierCV().fit(X, y, tasks=["a", "a", "b", "b"] * 3)
    >>> svc.predict([[0.9, 0.2]], tasks=["b"])
    array([1])
    """

    costs: Any = COSTS

    C = 1.0  # until one is chosen

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        tasks: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Select the hyperparameters, and fit the model.

        If windows do not tell where their site is, it is searched for. Tasks with far fewer labels
        than the others are learnt after them.

        Parameters
        ----------
        X, y, tasks, sample_weight
            As in :meth:`MultiTaskSVC.fit`.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a task lacks a class, lengths differ, or numbers are NaN or infinite.
        """
        from seqmtl.adaptation.few_labels import train_with_few

        examples, settings = self._read(X, y, tasks, sample_weight)
        space = search_space(self, examples.names)
        features = feature_map(self.features)
        model, solution = train_with_few(examples, space, features=features, settings=settings)
        store_fit(self, model, solution)
        return self


@dataclass(eq=False, repr=False)
class MultiTaskMKLClassifier(MultiTaskClassifier):
    """Multi-task support vector machine with learnt task kernels, for strings or numbers.

    Solves min over W, theta >= 0, ||theta||_p <= 1 of 1/2 sum_m ||W_m||^2_{Q_m} / theta_m +
    sum_i C_i loss(y_i f_{t_i}(x_i)), where each m is a view of the features times a task kernel
    (Widmer, Kloft, Sreedharan, Raetsch 2015, Problem 1, Algorithm 2), to a certified duality
    gap. With one task this is p-norm multiple kernel learning. Second-order steps, which
    :class:`MultiTaskSVC` takes where there are few features, need a fixed K: here few columns of
    numbers may need many epochs.

    Parameters
    ----------
    features : FeatureDefinition, str, or list of them, optional
        Feature map, or its description, such as "wd:5", or a list of them, one per view. Default:
        ``PositionalKmers()`` for :class:`~seqmtl.Windows`, the identity for matrices.
    task_kernel : TaskKernel or list, optional
        Similarities to choose from, each with one or more matrices, or "individual", "union",
        "easy"; see :meth:`~seqmtl.TaskKernel.hierarchical`, :meth:`~seqmtl.TaskKernel.smooth`,
        :meth:`~seqmtl.TaskKernel.multigraph`. Every view is combined with every matrix.
        Default: 11' and I.
    norm : float, default=2.0
        p of the p-norm on the kernel weights, from 1 (sparse) to infinity (uniform).
    C : float, default=1.0
        Cost of errors.
    tol : float, default=1e-3
        Relative duality gap at which training stops.
    max_epochs : int, default=1000
        Maximum number of passes over the training data; a warning is given if it is reached.
    dtype : {"float32", "float64"} or the NumPy type, optional
        Type of the weights. Default: float32 for strings, float64 for numbers.
    random_state : int or RandomState, default=0
        Seed of the visiting order.
    loss : {"hinge", "squared_hinge", "logistic"}, default="hinge"
        Loss.
    class_weight : dict or "balanced", optional
        Factors on C by class.
    fit_intercept : bool, default=True
        Append a constant feature to every view, regularised and coupled like any other.

    Attributes
    ----------
    theta_ : ndarray, shape (n_views * n_kernels,)
        Kernel weights, view by view; see `kernel_weights_`.
    kernel_weights_ : list of dict
        View, label, tasks and weight of every kernel.
    task_kernel_ : TaskKernel
        sum_m theta_m K_m of every view.
    classes_, tasks_, coef_, intercept_, dual_coef_, dual_gap_, n_iter_, history_, model_, \
n_features_in_
        As in :class:`MultiTaskSVC`, but the gap is that of the problem with theta dualised.

    Examples
    --------
    >>> from seqmtl import MultiTaskMKLClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [0.2, 0.9], [0.8, 0.1]], [0, 1, 0, 1]
    >>> mkl = MultiTaskMKLClassifier(norm=2.0).fit(X, y, tasks=["a", "a", "b", "b"])
    >>> [weight["label"] for weight in mkl.kernel_weights_]
    ['union', 'individual']
    """

    norm: float | None = 2.0
    C: float = 1.0

    def _read(self, X: Any, y: Any, tasks: Any, sample_weight: Any) -> tuple[Examples, Settings]:
        if self.norm is None:
            raise ValueError(
                "norm must be a number from 1 to infinity, got None; for one fixed kernel use "
                "MultiTaskSVC"
            )
        return super()._read(X, y, tasks, sample_weight)
