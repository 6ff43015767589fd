"""The sections of a job, made from docs/schemas/job.json by tools/make_job_types.py: not to be edited."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ._section import Section

__all__ = [
    "Aggregation",
    "Algorithm",
    "AlgorithmGeometry",
    "AlgorithmPhase",
    "AlgorithmPhaseStage",
    "AlgorithmReports",
    "AlgorithmServer",
    "AlgorithmSet",
    "AlgorithmStage",
    "AlgorithmStagePhase",
    "AlgorithmVertices",
    "Data",
    "DataDerived",
    "DataDerivedGroup",
    "DataFeature",
    "DataFeatureMissing",
    "DataLabel",
    "DataLabelMissing",
    "DataSensitive",
    "DataSensitiveMerged",
    "Domain",
    "Evaluation",
    "Initial",
    "Job",
    "Member",
    "Model",
    "ModelHidden",
    "ModelImage",
    "Participation",
    "Privacy",
    "PrivacyCalibration",
    "PrivacyMoments",
    "PrivacyPerson",
    "PrivacyShuffle",
    "PrivacyShuffleShuffler",
    "Projection",
    "ProjectionDirection",
    "Public",
    "PublicFormat",
    "Regulariser",
    "Simulation",
    "SimulationFile",
    "SimulationIdx",
    "SimulationTest",
    "SimulationTestFile",
    "SimulationTestIdx",
    "Standardisation",
    "Statistics",
    "StatisticsQuestion",
    "StatisticsQuestionGuess",
    "StatisticsQuestionMoments",
    "Wire",
]


@dataclass(kw_only=True)
class DataDerivedGroup(Section):
    r"""One group of data, derived.

    Parameters
    ----------
    name : str
        The value that these become.
    values : list[str], optional
        These texts.
    prefixes : list[str], optional
        Every text that begins so, such as C50 of C50.1; a longer one goes first.
    """

    name: str
    values: list[str] | None = None
    prefixes: list[str] | None = None
    _keys = ("name", "values", "prefixes")


@dataclass(kw_only=True)
class DataDerived(Section):
    r"""One derived of data.

    Parameters
    ----------
    column : str
        The name that label, features and sensitive columns know it by.
    how : {"days_between", "years_between", "year", "month", "weekday", "log", "bins", "merge", "buckets"}
        The public rule: the time between two dates (a year has 365.25 days), a part of a date (weekdays from 1,
        Monday), a natural logarithm, the bin of a number, the group that a list puts a text into, or one of some
        buckets of texts.
    from_ : list[str]
        The column that it comes from; of a time between two dates both, the earlier first.
    date : {"YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"}, optional
        The form of the dates.
    plus : float, optional
        Is added before the logarithm is taken (default 0).
    limits : {"refuse", "bound"}, optional
        A cell such as <0.6 or >200 is an error (default), or counts as the limit that it names.
    edges : list[float], optional
        Where bins part, ascending: below the first, from one to below the next, from the last on.
    names : list[str], optional
        One for each bin (default "below 18", "18 to below 65", "65 or more").
    groups : list[DataDerivedGroup], optional
        What becomes one value, group by group.
    rest : str, optional
        The value of every other text; without it such a text stays what it is.
    buckets : int, optional
        How many: each text falls into one by a public hash.
    missing : list[str], optional
        What is written where there is no value to derive from (default [""]).
    """

    column: str
    how: Literal["days_between", "years_between", "year", "month", "weekday", "log", "bins", "merge", "buckets"]
    from_: list[str]
    date: Literal["YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"] | None = None
    plus: float | None = None
    limits: Literal["refuse", "bound"] | None = None
    edges: list[float] | None = None
    names: list[str] | None = None
    groups: list[DataDerivedGroup] | None = None
    rest: str | None = None
    buckets: int | None = None
    missing: list[str] | None = None
    _keys = ("column", "how", "from", "date", "plus", "limits", "edges", "names", "groups", "rest", "buckets", "missing")


@dataclass(kw_only=True)
class DataLabelMissing(Section):
    r"""What is done with a missing value; without it one is an error.

    Parameters
    ----------
    texts : list[str]
        What stands for a missing value, e.g. ["", "NA"].
    value : str | float
        A date in its place.
    indicator : bool, optional
        Adds a feature that is 1 where the value was missing (default false).
    """

    texts: list[str]
    value: str | float
    indicator: bool | None = None
    _keys = ("texts", "value", "indicator")


@dataclass(kw_only=True)
class DataLabel(Section):
    r"""The target.

    Parameters
    ----------
    column : str
        The column's name; with min and max instead of negative and positive, a numeric target.
    negative : str, optional
        The value that counts as -1.
    positive : str, optional
        The value that counts as 1.
    classes : list[str], optional
        Of softmax and network: the public list of values, in order.
    date : {"YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"}, optional
        The column holds dates of this form; min, max and missing.value are then dates too.
    min : str | float, optional
        Public lower bound; scaled to -1.
    max : str | float, optional
        Public upper bound; scaled to 1.
    outside : {"clamp", "refuse"}, optional
        Values outside the bounds are clamped and counted for the owner (default), or an error.
    limits : {"refuse", "bound"}, optional
        A cell such as <0.6 or >200 is an error (default), or counts as the limit that it names.
    missing : DataLabelMissing, optional
        What is done with a missing value; without it one is an error.
    """

    column: str
    negative: str | None = None
    positive: str | None = None
    classes: list[str] | None = None
    date: Literal["YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"] | None = None
    min: str | float | None = None
    max: str | float | None = None
    outside: Literal["clamp", "refuse"] | None = None
    limits: Literal["refuse", "bound"] | None = None
    missing: DataLabelMissing | None = None
    _keys = ("column", "negative", "positive", "classes", "date", "min", "max", "outside", "limits", "missing")


@dataclass(kw_only=True)
class DataFeatureMissing(Section):
    r"""What is done with a missing value; without it one is an error.

    Parameters
    ----------
    texts : list[str]
        What stands for a missing value, e.g. ["", "NA"].
    value : str | float
        Used in its place, in the column's unit; a date for dates.
    indicator : bool, optional
        Adds a feature that is 1 where the value was missing (default false).
    """

    texts: list[str]
    value: str | float
    indicator: bool | None = None
    _keys = ("texts", "value", "indicator")


@dataclass(kw_only=True)
class DataFeature(Section):
    r"""One feature of data.

    Parameters
    ----------
    column : str
        The column's name in the file's header.
    categories : {"all"} | list[str], optional
        The public list of values; each becomes a feature in {0, 1}. "all": every value of a derived column.
    others_allowed : bool, optional
        A value that is not listed sets no feature, instead of being an error (default false).
    date : {"YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"}, optional
        The column holds dates of this form; min, max and missing.value are then dates too.
    min : str | float, optional
        Public lower bound; scaled to -1.
    max : str | float, optional
        Public upper bound; scaled to 1.
    outside : {"clamp", "refuse"}, optional
        Values outside the bounds are clamped and counted for the owner (default), or an error.
    limits : {"refuse", "bound"}, optional
        A cell such as <0.6 or >200 is an error (default), or counts as the limit that it names.
    missing : DataFeatureMissing, optional
        What is done with a missing value; without it one is an error.
    """

    column: str
    categories: Literal["all"] | list[str] | None = None
    others_allowed: bool | None = None
    date: Literal["YYYY-MM-DD", "DD.MM.YYYY", "MM/DD/YYYY", "DD/MM/YYYY", "YYYYMMDD", "YYYY-MM-DDThh:mm:ss"] | None = None
    min: str | float | None = None
    max: str | float | None = None
    outside: Literal["clamp", "refuse"] | None = None
    limits: Literal["refuse", "bound"] | None = None
    missing: DataFeatureMissing | None = None
    _keys = ("column", "categories", "others_allowed", "date", "min", "max", "outside", "limits", "missing")


@dataclass(kw_only=True)
class DataSensitiveMerged(Section):
    r"""One merged of data, sensitive.

    Parameters
    ----------
    values : list[str]
        Two or more of the categories, in no other list.
    """

    values: list[str]
    _keys = ("values",)


@dataclass(kw_only=True)
class DataSensitive(Section):
    r"""One sensitive of data.

    Parameters
    ----------
    column : str
        The column's name in the file's header.
    categories : list[str]
        The public list of values; each is a group of its own but for what is merged.
    merged : list[DataSensitiveMerged], optional
        Values that count as one group, list by list.
    missing : list[str], optional
        What is written where the value is not known; without it such a value is an error.
    also_feature : bool, optional
        The column may be one of the features, too, so that models read it (default false).
    """

    column: str
    categories: list[str]
    merged: list[DataSensitiveMerged] | None = None
    missing: list[str] | None = None
    also_feature: bool | None = None
    _keys = ("column", "categories", "merged", "missing", "also_feature")


@dataclass(kw_only=True)
class Data(Section):
    r"""What every silo's file holds: public, fixed without looking at records.

    Parameters
    ----------
    derived : list[DataDerived], optional
        Columns that no file holds: each record's value follows from its other cells alone, by a public rule.
        Label, features and sensitive columns name them like others.
    label : DataLabel
        The target.
    features : list[DataFeature]
        In this order.
    sensitive : list[DataSensitive], optional
        The columns that say which group a record is in, for fairness: no features, and not the label. Of several
        columns every combination of their values is a group.
    """

    label: DataLabel
    features: list[DataFeature]
    derived: list[DataDerived] | None = None
    sensitive: list[DataSensitive] | None = None
    _keys = ("derived", "label", "features", "sensitive")


@dataclass(kw_only=True)
class StatisticsQuestionGuess(Section):
    r"""Of survival: what a plan reckons with, from outside knowledge.

    Parameters
    ----------
    survival : float, optional
        Until the last edge of the grid (default .5).
    censored : float, optional
        The share of those without an event that is lost until then (default .2).
    """

    survival: float | None = None
    censored: float | None = None
    _keys = ("survival", "censored")


@dataclass(kw_only=True)
class StatisticsQuestionMoments(Section):
    r"""Of mean, where the column's bounds are far wider than most of its numbers: a bound on a moment, from which
    follows where numbers are cut for the least interval.

    Parameters
    ----------
    order : float
        K of E \|x - about\|^k <= bound^k.
    bound : float
        In the column's unit.
    about : float, optional
        A point within the column's bounds (default: their middle).
    influence : {"clip", "smooth"}, optional
        Clip (default): numbers are cut. smooth: they are bent by Catoni's function, which takes a policy with a
        release interval.
    source : str
        Where the bound comes from, for those who read the result.
    """

    order: float
    bound: float
    source: str
    about: float | None = None
    influence: Literal["clip", "smooth"] | None = None
    _keys = ("order", "bound", "about", "influence", "source")


@dataclass(kw_only=True)
class StatisticsQuestion(Section):
    r"""One question of statistics.

    Parameters
    ----------
    kind : see the annotation
        Count: records with a value, or with each of a column's values; mean, sum, variance (with the mean and the
        standard deviation): of a column of numbers, where the value used for a missing one counts; missing:
        records whose number was missing, of a column with an indicator; histogram: records in each of its cells;
        records_per_person, of unit person: how many persons have how many records; quantiles: interpolated in
        cells; table: records with each combination of values; covariance: means, covariances and correlations;
        regression: coefficients of least squares; and what undertone query asks later, as often as anybody likes:
        marginals, the share of the records with all or any of some values; kernels, how many records are near any
        point; loss, the empirical risk of a linear model of three parameters at most, anywhere in a box. Chosen
        by the exponential mechanism, one answer of each silo: selected_quantile, an edge of cells on either side
        of a quantile, each a release of its own; least_loss, the parameters of a grid whose risk is nearly the
        least. Of records as vectors: vector_mean, their mean, with public records where silos have them;
        linear_model, a model from one round. gradient_norms: how many records have gradients of which length, for
        a bound on a moment. survival: when and how records were last seen, in one release, of which are curves,
        hazards, restricted means, quantiles, incidences, tests between groups and hazard ratios. group_means:
        means of a column of numbers in the groups of another one, their differences, and a test that they are
        alike (analysis of variance).
    form : {"total", "reports"}, optional
        Of count, mean, missing, marginals, kernels, loss, vector_mean and linear_model: total (default): a silo
        adds its records up and answers with noised totals; reports: with a report of every record by itself, each
        private on its own whoever sees it, in a secret order: far less is learnt, and nobody has to be trusted
        with a total. Of a count it is then the share; of marginals, kernels and loss each record reports on one
        number of many.
    randomiser : {"bit", "laplace", "string_bit", "index", "direction", "gaussian"}, optional
        Of reports: bit (default): one bit, the likelier 1 the larger the number; laplace: the number with noise
        of its own, which says more from an epsilon of about 3 on; of marginals, kernels and loss also, for
        comparison, since they say less: string_bit, a bit about the number and a public string; index, the number
        of one of 32 public strings. Of vector_mean: direction (default), one near the record's own (PrivUnit), or
        gaussian, its vector with Gaussian noise, which those of linear_model are.
    public_seed : int, optional
        Of the public strings (default 1).
    column : str, optional
        A feature or the label, by its name in data; not of what has columns.
    value : str, optional
        Of count: one of the values that data lists for the column; without it each of them, counted together.
    columns : list[str], optional
        Of table and marginals: columns of listed values; of covariance, kernels and loss: of numbers; of
        regression: what the response is explained by, where a column of values is an indicator for each but the
        first; of the reports of a mean, instead of column: of numbers, each record reporting on one of them
        alone.
    response : str, optional
        Of regression, loss and linear_model: a column of numbers, or a label of two values as -1 and 1; the
        losses hinge and logistic of linear_model are of such a label. Of a table (optional): a column of two
        values, whose logistic regression on the others is stated from the same cells.
    group : str, optional
        Of group_means: a column of two listed values or more.
    tests : bool, optional
        Of a table of two columns: test whether they are independent, and of two by two values state the odds
        ratio and the risk ratio, at no further cost (default false).
    edges : list[float], optional
        Of histogram, quantiles and selected_quantile, in the column's unit: ascending, from its lower bound to
        its upper one; a cell holds its upper edge. Of records_per_person: whole numbers from 0 to records_max
        (default: all of them).
    bins : int, optional
        Instead of edges: so many cells of one width.
    probabilities : list[float], optional
        Of quantiles, selected_quantile and survival (default there: the median): shares of the records, each in
        (0, 1).
    time : str, optional
        Of survival: a column of numbers, until when a record was seen; what is missing there needs an indicator
        in data.
    event : str, optional
        Of survival: a column of listed values that says how it was last seen.
    events : list[str], optional
        Of survival: which of them are events; of all others time only ran out.
    competing : bool, optional
        Of survival: each of the events is a cause of its own, which costs nothing more (default false: any of
        them ends it).
    grid : list[float], optional
        Of survival: ascending edges in the unit of the time, from outside knowledge: from the lower bound of the
        time on; the last one below the upper bound of the time. As few as the question allows: noise grows with
        the root of their number.
    by : list[str], optional
        Of survival: columns of listed values, whose combinations are groups that are compared; the noise stays
        what it is.
    at : list[float], optional
        Of survival: edges of the grid at which curves are stated (default: all).
    times : {"continuous", "grid"}, optional
        Of survival: continuous (default): put into the intervals of the grid; grid: its edges are all the times
        that there are, as days are in days.
    silos : {"standardised", "alike"}, optional
        Of survival: standardised (default): each silo's curve by itself, weighed by its records, since silos that
        differ in hazard and in censoring have no common curve; alike: everybody declares that they do not differ
        in one of the two, and tables are added up.
    test : {"log_rank", "gehan"}, optional
        Of survival by groups: log_rank (default), or gehan, which counts early times more and is less disturbed
        where few are left.
    guess : StatisticsQuestionGuess, optional
        Of survival: what a plan reckons with, from outside knowledge.
    ends : bool, optional
        Of selected_quantile: the two ends of an interval (default true), or one edge near the quantile, of which
        no interval is known.
    near_normal : bool, optional
        Of covariance: everybody declares the columns to be near a normal law, without which correlations have no
        interval for the population (default false).
    point : list[float], optional
        Of gradient_norms: the public point, one number for each encoded feature and one for the intercept
        (default: 0).
    width : int, optional
        Of marginals: how many values can be asked for together later.
    degree : int, optional
        Of marginals: so many values together are released, and more follow by a polynomial that is nearly right;
        of loss: of the polynomial in each parameter. Without it the one that promises the least error for these
        records.
    terms : int, optional
        Of kernels: cosines of each column. Without it what the records carry.
    loss : {"logistic", "hinge", "squared", "absolute", "quantile", "piecewise"}, optional
        Of loss: of a linear model's score of the columns, each scaled to [-1, 1].
    intercept : bool, optional
        Of loss: whether the last parameter is one (default true).
    parameter_bound : float, optional
        Of loss: every parameter is at most this large (default 4).
    order : int, optional
        Of loss: of the iterated Bernstein operator (2, or 4 with very many records).
    centre : list[float], optional
        Of least_loss: the middle of the grid, a number for each parameter in the order of columns, then the
        intercept's. parameter_bound is then how far the grid reaches from it. In a small grid losses differ
        little, and the choice is the better for it (default: 0).
    ridge : float, optional
        Of least_loss with a centre: half of it times the parameters' squared norm is added to the loss (default
        0).
    norm : float, optional
        Of vector_mean and linear_model: a record's vector, each column scaled to [-1, 1], is cut to this length
        (default: the root of their number, which none exceeds).
    adapter : {"round", "lift", "normalise"}, optional
        Of directions: round (default): the record's own or the opposite one, as its length has it; lift: in one
        dimension more, of the length 1; normalise: its own whatever its length, which estimates the mean
        direction.
    public_records : {"weighted", "empirical", "throw_away"}, optional
        Of vector_mean: the records that silos' owners declared public are asked for besides, exactly, and make
        one estimate with the others. weighted: by inverse variances, of the law that all are drawn from;
        empirical: of the records that there are; throw_away: public records alone, no other is read (default:
        none are asked for).
    spread : float, optional
        Of weighted: the root of the trace of the covariance, in the unit of norm, if it is known (default: as it
        is of the public records).
    probability : float, optional
        Of the loss quantile: which quantile is wanted.
    kinks : list[float], optional
        Of the loss piecewise: where its slope rises, ascending; of a margin over the norm, or of a residual in
        half ranges of the response.
    slopes : list[float], optional
        Of the loss piecewise: one more than kinks, ascending, in [-1, 1]: the slope before the first kink, and
        after each.
    smoothing : float, optional
        Of linear_model: b, over which a kink is rounded off, in the unit of kinks (default 0.25).
    copies : bool, optional
        Of the reports of linear_model: D (D + 1) + 1 noised copies of every record in place of one, for
        comparison (default false).
    moments : StatisticsQuestionMoments, optional
        Of mean, where the column's bounds are far wider than most of its numbers: a bound on a moment, from which
        follows where numbers are cut for the least interval.
    weight : float, optional
        Of budget weights: of this question's noise (default 1).
    half_width : float, optional
        Of budget half_widths: what its noise interval over all silos is to have, in records or in the unit of the
        column.
    persons : {"mean", "one_record", "any", "total"}, optional
        Of unit person, of whom records_max records may count: mean (default): she counts with the mean over them;
        one_record: with one of them, drawn afresh. Of counts, histograms and tables also: any: once in every cell
        that one of them is in, as in how many patients ever had a diagnosis; total: with all of them, as in how
        many visits there were, which takes as much more noise. Total is of mean and sum as well, which are then
        of records, and the number of records comes with them at no cost.
    """

    kind: Literal["count", "mean", "missing", "sum", "variance", "histogram", "records_per_person", "quantiles", "table", "covariance", "regression", "marginals", "kernels", "loss", "selected_quantile", "least_loss", "vector_mean", "linear_model", "gradient_norms", "survival", "group_means"]
    form: Literal["total", "reports"] | None = None
    randomiser: Literal["bit", "laplace", "string_bit", "index", "direction", "gaussian"] | None = None
    public_seed: int | None = None
    column: str | None = None
    value: str | None = None
    columns: list[str] | None = None
    response: str | None = None
    group: str | None = None
    tests: bool | None = None
    edges: list[float] | None = None
    bins: int | None = None
    probabilities: list[float] | None = None
    time: str | None = None
    event: str | None = None
    events: list[str] | None = None
    competing: bool | None = None
    grid: list[float] | None = None
    by: list[str] | None = None
    at: list[float] | None = None
    times: Literal["continuous", "grid"] | None = None
    silos: Literal["standardised", "alike"] | None = None
    test: Literal["log_rank", "gehan"] | None = None
    guess: StatisticsQuestionGuess | None = None
    ends: bool | None = None
    near_normal: bool | None = None
    point: list[float] | None = None
    width: int | None = None
    degree: int | None = None
    terms: int | None = None
    loss: Literal["logistic", "hinge", "squared", "absolute", "quantile", "piecewise"] | None = None
    intercept: bool | None = None
    parameter_bound: float | None = None
    order: int | None = None
    centre: list[float] | None = None
    ridge: float | None = None
    norm: float | None = None
    adapter: Literal["round", "lift", "normalise"] | None = None
    public_records: Literal["weighted", "empirical", "throw_away"] | None = None
    spread: float | None = None
    probability: float | None = None
    kinks: list[float] | None = None
    slopes: list[float] | None = None
    smoothing: float | None = None
    copies: bool | None = None
    moments: StatisticsQuestionMoments | None = None
    weight: float | None = None
    half_width: float | None = None
    persons: Literal["mean", "one_record", "any", "total"] | None = None
    _keys = ("kind", "form", "randomiser", "public_seed", "column", "value", "columns", "response", "group", "tests", "edges", "bins", "probabilities", "time", "event", "events", "competing", "grid", "by", "at", "times", "silos", "test", "guess", "ends", "near_normal", "point", "width", "degree", "terms", "loss", "intercept", "parameter_bound", "order", "centre", "ridge", "norm", "adapter", "public_records", "spread", "probability", "kinks", "slopes", "smoothing", "copies", "moments", "weight", "half_width", "persons")


@dataclass(kw_only=True)
class Statistics(Section):
    r"""Instead of model, algorithm, domain, regulariser, evaluation and wire: statistics of the silos' training
    records, each asked for once.

    Parameters
    ----------
    questions : list[StatisticsQuestion]
        Each a release of its own: together they spend what is promised.
    noise : {"cheaper", "laplace", "gaussian"}, optional
        Laplace: discrete, of a pure epsilon, the default of single counts and means; gaussian: rounded to a
        lattice, needs a delta; cheaper, the default of everything else: the one with less noise at the silos'
        promises.
    budget : {"equal", "weights", "half_widths"}, optional
        Equal (default): every question has the same part of what is promised; weights: the parts that make the
        weighted variance of all numbers least; half_widths: what each needs for its half_width, and the rest is
        not spent.
    confidence : float, optional
        How often each interval covers, at least (default 0.95).
    sampling_intervals : bool, optional
        Besides the intervals for the records themselves, whose only error is noise, state those for what the
        records are drawn from (default false).
    """

    questions: list[StatisticsQuestion]
    noise: Literal["cheaper", "laplace", "gaussian"] | None = None
    budget: Literal["equal", "weights", "half_widths"] | None = None
    confidence: float | None = None
    sampling_intervals: bool | None = None
    _keys = ("questions", "noise", "budget", "confidence", "sampling_intervals")


@dataclass(kw_only=True)
class ProjectionDirection(Section):
    r"""One direction of projection.

    Parameters
    ----------
    weights : list[float]
        Of the features, from the origin.
    """

    weights: list[float]
    _keys = ("weights",)


@dataclass(kw_only=True)
class Projection(Section):
    r"""Public: what the model reads instead of the features, as undertone components has it.

    Parameters
    ----------
    origin : list[float]
        Subtracted from the encoded features.
    directions : list[ProjectionDirection]
        One for each number that the model reads.
    """

    origin: list[float]
    directions: list[ProjectionDirection]
    _keys = ("origin", "directions")


@dataclass(kw_only=True)
class Standardisation(Section):
    r"""Public: the encoded features less an origin, over a scale, as undertone standardisation makes it of a job
    of statistics.

    Parameters
    ----------
    origin : list[float]
        Subtracted from the encoded features.
    scale : list[float]
        What they are then divided by, each above 0.
    """

    origin: list[float]
    scale: list[float]
    _keys = ("origin", "scale")


@dataclass(kw_only=True)
class ModelImage(Section):
    r"""Of network: the features as an image, pixel by pixel, row by row.

    Parameters
    ----------
    channels : int
        Of a pixel.
    height : int
        Pixels.
    width : int
        Pixels.
    """

    channels: int
    height: int
    width: int
    _keys = ("channels", "height", "width")


@dataclass(kw_only=True)
class ModelHidden(Section):
    r"""One hidden of model.

    Parameters
    ----------
    kind : {"dense", "convolution"}
        A convolution reads an image, at stride 1, inside it.
    activation : {"relu", "tanh", "identity"}
        Of its outputs.
    width : int, optional
        Outputs of a dense layer.
    channels : int, optional
        Of a convolution's output.
    kernel : int, optional
        Pixels, both ways.
    pooled : bool, optional
        Keeps the largest of each 2 x 2 pixels (default false).
    """

    kind: Literal["dense", "convolution"]
    activation: Literal["relu", "tanh", "identity"]
    width: int | None = None
    channels: int | None = None
    kernel: int | None = None
    pooled: bool | None = None
    _keys = ("kind", "activation", "width", "channels", "kernel", "pooled")


@dataclass(kw_only=True)
class Model(Section):
    r"""The model of a job.

    Parameters
    ----------
    kind : {"logistic", "least_squares", "hinge", "absolute", "quantile", "huber", "poisson", "softmax", "network", "moments"}
        Logistic and hinge for a label of two values, softmax and network for one of classes, moments for any: the
        features' means and products, docs/researchers-guide.md; the others for a number, and poisson for one
        whose "min" is 0, such as a count or a cost: the logarithm of its mean is linear.
    level : float, optional
        Of quantile, between 0 and 1.
    threshold : float, optional
        Of huber.
    smoothing : float, optional
        Beta of the Moreau envelope that stands for hinge, absolute or quantile.
    logit_max : float, optional
        Of logistic: scores are clipped to this.
    intercept : bool, optional
        Of a linear model: adds a constant feature (default true).
    image : ModelImage, optional
        Of network: the features as an image, pixel by pixel, row by row.
    hidden : list[ModelHidden], optional
        Of network: its layers, but for the scores'.
    seed : int, optional
        Of network: public, of the weights that training starts from.
    """

    kind: Literal["logistic", "least_squares", "hinge", "absolute", "quantile", "huber", "poisson", "softmax", "network", "moments"]
    level: float | None = None
    threshold: float | None = None
    smoothing: float | None = None
    logit_max: float | None = None
    intercept: bool | None = None
    image: ModelImage | None = None
    hidden: list[ModelHidden] | None = None
    seed: int | None = None
    _keys = ("kind", "level", "threshold", "smoothing", "logit_max", "intercept", "image", "hidden", "seed")


@dataclass(kw_only=True)
class Domain(Section):
    r"""Default: a ball of radius 10; of moments, networks and fisher_scoring the whole space.

    Parameters
    ----------
    kind : {"l2_ball", "whole_space", "box", "l1_ball", "simplex", "group_ball", "mixed_ball", "nuclear_ball"}
        Where the model may lie.
    radius : float, optional
        Of a ball around zero.
    lower : float, optional
        Of a box: the least value of every coordinate.
    upper : float, optional
        Of a box: the largest.
    scale : float, optional
        Of a simplex: what the coordinates add up to.
    group_size : int, optional
        Of a group ball: consecutive coordinates, whose l2 norms add up to the radius at most.
    share : float, optional
        A of a mixed ball: (1-a) \|w\|_1 + a \|w\|_2 is the radius at most.
    rows : int, optional
        Of a nuclear ball: the model is a matrix of so many rows, column by column, whose singular values add up
        to the radius at most.
    """

    kind: Literal["l2_ball", "whole_space", "box", "l1_ball", "simplex", "group_ball", "mixed_ball", "nuclear_ball"]
    radius: float | None = None
    lower: float | None = None
    upper: float | None = None
    scale: float | None = None
    group_size: int | None = None
    share: float | None = None
    rows: int | None = None
    _keys = ("kind", "radius", "lower", "upper", "scale", "group_size", "share", "rows")


@dataclass(kw_only=True)
class Regulariser(Section):
    r"""Default: l2 of strength 0.001; of moments, networks and fisher_scoring none.

    Parameters
    ----------
    kind : {"l2", "none", "l1", "elastic_net", "group_lasso"}
        Added to the loss; the intercept is not regularised.
    strength : float, optional
        Lambda of lambda/2 \|w\|^2 (l2), of lambda \|w\|_1 (l1, elastic_net), of group_lasso.
    l2_strength : float, optional
        Of elastic_net's lambda/2 \|w\|^2.
    group_size : int, optional
        Of group_lasso: consecutive coordinates.
    """

    kind: Literal["l2", "none", "l1", "elastic_net", "group_lasso"]
    strength: float | None = None
    l2_strength: float | None = None
    group_size: int | None = None
    _keys = ("kind", "strength", "l2_strength", "group_size")


@dataclass(kw_only=True)
class Wire(Section):
    r"""May be left out.

    Parameters
    ----------
    points : {"f64", "f32"}, optional
        The type of broadcast models (default f64).
    replies : {"i32", "i64"}, optional
        The type of answers (default i64).
    reply_step_log2 : int, optional
        One unit of an answer is 2^this of the released mean (default -40).
    """

    points: Literal["f64", "f32"] | None = None
    replies: Literal["i32", "i64"] | None = None
    reply_step_log2: int | None = None
    _keys = ("points", "replies", "reply_step_log2")


@dataclass(kw_only=True)
class Initial(Section):
    r"""Public: where the run starts (default: zero, and of a network its seed's weights).

    Parameters
    ----------
    kind : {"zero", "random", "weights"}
        Zero: the point of the domain nearest to 0; random: uniform numbers, then the nearest point of the domain;
        weights: the values below, a point of the domain.
    seed : int, optional
        Of random: public.
    scale : float, optional
        Of random: numbers are uniform from -scale to scale.
    values : list[float], optional
        Of weights: one for each number of the model, in the order of a model.json.
    sha256 : str, optional
        Of weights: of the values as little-endian doubles.
    """

    kind: Literal["zero", "random", "weights"]
    seed: int | None = None
    scale: float | None = None
    values: list[float] | None = None
    sha256: str | None = None
    _keys = ("kind", "seed", "scale", "values", "sha256")


@dataclass(kw_only=True)
class PublicFormat(Section):
    r"""Of file: how it is written (default: as RFC 4180 has it).

    Parameters
    ----------
    separator : {",", ";", "tab", "|", "blank"}, optional
        What stands between cells (default a comma); a blank is one blank each.
    decimal : {"point", "comma"}, optional
        How numbers are written: 1.5 or 1,5 (default point).
    grouped : bool, optional
        Digits may stand in groups of three, with the other mark between: 12,345.6 or 12.345,6 (default false).
    encoding : {"UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"}, optional
        How the file's bytes are text (default UTF-8).
    """

    separator: Literal[",", ";", "tab", "|", "blank"] | None = None
    decimal: Literal["point", "comma"] | None = None
    grouped: bool | None = None
    encoding: Literal["UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"] | None = None
    _keys = ("separator", "decimal", "grouped", "encoding")


@dataclass(kw_only=True)
class Public(Section):
    r"""Records that need no protection and better each step: a file that stays with the coordinator, records that
    silos' owners declared public, or both (default: none).

    Parameters
    ----------
    file : str, optional
        A CSV file's name, without folders. A coordinator looks for it in the public_folder of its configuration,
        simulate and plan beside the job (default: none).
    sha256 : str, optional
        Of file: of its bytes, in hexadecimal, as sha256sum prints it.
    records : int, optional
        Of file: how many it holds.
    format : PublicFormat, optional
        Of file: how it is written (default: as RFC 4180 has it).
    silos : bool, optional
        Silos answer for the records that their owners declared public besides, exactly (default false).
    use : {"gradients", "mirror_map"}, optional
        Of file: gradients (the default): each step goes along a mean of the silos' gradients and the public ones;
        mirror_map: along the silos' alone, in the geometry of the public records' least squares.
    gradients : {"raw", "clipped", "rescaled"}, optional
        Of use gradients: public records' gradients as they are (raw, the default of a file), each clipped to
        privacy.clip_norm (what silos do with theirs), or each made as long as that.
    weight : float, optional
        Of use gradients: the share of the protected records' gradients in each step (default: the share with
        which a step varies least, by the plan's noise and the public records; without a file it has to be said;
        of semi_ldp_sgd every record counts alike).
    weight_end : float, optional
        Of use gradients: that share in the last round; in between it changes by as much from round to round
        (default: weight).
    weighed_by : {"records", "variance"}, optional
        Of use gradients without a weight: the two sides count by their numbers of records, so that every record
        counts alike where silos weigh by their records (records, the default of semi_ldp_sgd), or a step varies
        least by the plan's noise and the file's records (variance, the default of the others).
    mirror_ridge : float, optional
        Of use mirror_map: added to the diagonal of the public records' X^T X / n (default 0.01).
    mirror_scale : {"least_eigenvalue", "none", "least_of_mean"}, optional
        Of use mirror_map: what the matrix is divided by (default least_eigenvalue: its own least one, so that
        steps are of SGD's size; least_of_mean: with ridge / d in the ridge's place).
    warm_start : bool, optional
        Of file: the run starts at the minimiser of the public records' mean loss (default true).
    solver : {"minimiser", "one_pass"}, optional
        Of file: which model of it the run starts at: the minimiser of its mean loss (the default), or what one
        pass of stochastic gradient descent ends with, whose excess risk a theorem bounds: on an l2_ball,
        gradients clipped to privacy.clip_norm.
    warm_ridge : float, optional
        Of file: the l2 strength of that loss (default: the regulariser's, times all records over the public ones,
        since the public loss counts for that share of the objective).
    """

    file: str | None = None
    sha256: str | None = None
    records: int | None = None
    format: PublicFormat | None = None
    silos: bool | None = None
    use: Literal["gradients", "mirror_map"] | None = None
    gradients: Literal["raw", "clipped", "rescaled"] | None = None
    weight: float | None = None
    weight_end: float | None = None
    weighed_by: Literal["records", "variance"] | None = None
    mirror_ridge: float | None = None
    mirror_scale: Literal["least_eigenvalue", "none", "least_of_mean"] | None = None
    warm_start: bool | None = None
    solver: Literal["minimiser", "one_pass"] | None = None
    warm_ridge: float | None = None
    _keys = ("file", "sha256", "records", "format", "silos", "use", "gradients", "weight", "weight_end", "weighed_by", "mirror_ridge", "mirror_scale", "warm_start", "solver", "warm_ridge")


@dataclass(kw_only=True)
class PrivacyPerson(Section):
    r"""Of unit person: what one contributes to an answer.

    Parameters
    ----------
    records_max : int
        So many of her records at most, drawn afresh for each answer: public, and fixed before anybody looks at
        the data.
    contribution : {"clipped_mean", "mean_of_clipped", "capped_sum"}, optional
        The mean over her records' gradients, clipped once: of linear models; or of each of them clipped: of
        networks; or the sum of each of them clipped, over records_max, so that she weighs more the more records
        she has, up to so many.
    """

    records_max: int
    contribution: Literal["clipped_mean", "mean_of_clipped", "capped_sum"] | None = None
    _keys = ("records_max", "contribution")


@dataclass(kw_only=True)
class PrivacyMoments(Section):
    r"""In place of clip_norm, which then follows from it: a bound on how heavy gradients' tails are.

    Parameters
    ----------
    order : float
        K of E \|g\|^k <= bound^k, g a record's gradient.
    of : {"norm", "coordinates"}, optional
        What the bound is of: the gradient's l2 norm (the default), or every one of its coordinates, each of which
        is then cut by itself.
    influence : {"clip", "smooth"}, optional
        Of coordinates: clip cuts a number at the threshold (the default), smooth bends it there by Catoni's
        function.
    groups : int, optional
        Of coordinates: an odd number of groups of records, each with a noised mean of its own, of which the
        coordinator takes the median in each coordinate (default 1). It costs no more, and noise and draw vary
        more.
    bound : float
        In the gradients' own unit, wherever the model is.
    source : str
        Where the bound comes from, for those who approve the job.
    """

    order: float
    bound: float
    source: str
    of: Literal["norm", "coordinates"] | None = None
    influence: Literal["clip", "smooth"] | None = None
    groups: int | None = None
    _keys = ("order", "of", "influence", "groups", "bound", "source")


@dataclass(kw_only=True)
class PrivacyCalibration(Section):
    r"""Who chooses how much noise there is.

    Parameters
    ----------
    by : {"accountant", "theorem", "hand"}
        The least noise that keeps the promise, the source's closed form, or a number; what it costs is charged in
        any case.
    noise_multiplier : float, optional
        By hand: standard deviation / sensitivity of each training release.
    """

    by: Literal["accountant", "theorem", "hand"]
    noise_multiplier: float | None = None
    _keys = ("by", "noise_multiplier")


@dataclass(kw_only=True)
class PrivacyShuffleShuffler(Section):
    r"""One shuffler of privacy, shuffle.

    Parameters
    ----------
    name : str
        The CN of its certificate.
    key : str
        Of shares and counts: its public key, as undertone-shuffler key prints it.
    """

    name: str
    key: str
    _keys = ("name", "key")


@dataclass(kw_only=True)
class PrivacyShuffle(Section):
    r"""Of mode shuffle: how replies reach the coordinator.

    Parameters
    ----------
    form : {"shares", "counts", "bits", "reports"}
        Binomial sums as shares for two shufflers that do not collude, as counts for one that reads and adds, as
        bits mixed unread; or noised sums mixed unread.
    shufflers : list[PrivacyShuffleShuffler]
        Two where the form is shares, else one.
    coordinator_key : str, optional
        Of bits and reports: the fingerprint of the coordinator's key for this job, as undertone sealing-key
        prints it.
    honest_min : int
        Silos in any closed batch that are honest and do not collude: the guarantee rests on it.
    """

    form: Literal["shares", "counts", "bits", "reports"]
    shufflers: list[PrivacyShuffleShuffler]
    honest_min: int
    coordinator_key: str | None = None
    _keys = ("form", "shufflers", "coordinator_key", "honest_min")


@dataclass(kw_only=True)
class Privacy(Section):
    r"""The privacy of a job.

    Parameters
    ----------
    mode : {"isrl", "shuffle"}
        Isrl: every silo's own noise protects, nobody else is trusted; shuffle: less noise, and shufflers are
        trusted.
    unit : {"record", "person", "sensitive_attribute"}
        What is protected: a record; a person, who is all records with one id at a silo; or of each record its
        group by the sensitive columns alone, and neither its features nor its label.
    person : PrivacyPerson, optional
        Of unit person: what one contributes to an answer.
    silos_per_person : int, optional
        Of unit person: at so many silos of the cohort one has records at most (default: all). Nobody checks it;
        statements say what these silos promise her together.
    noise : {"secure", "test"}
        Test is seeded, for test builds of the agent alone, and protects nobody.
    clip_norm : float, optional
        L2 norm that each record's gradient is clipped to; of every algorithm but private_frank_wolfe by vote. Of
        an algorithm with a norm l_p, p < 2, it is the dual norm l_q, 1/p + 1/q = 1.
    moments : PrivacyMoments, optional
        In place of clip_norm, which then follows from it: a bound on how heavy gradients' tails are.
    coordinate_bound : float, optional
        Of private_frank_wolfe by vote in its place: what each coordinate of a record's gradient is cut to.
    noise_law : {"gaussian", "generalised_gaussian"}, optional
        Of sums whose records are clipped in a dual norm l_q, q > 2: density falling with the square of an l_r
        norm, 2 < r <= q, in place of l2 (default: gaussian, which is exact and averages better over silos; of
        noisy_mirror_descent the other).
    calibration : PrivacyCalibration, optional
        Who chooses how much noise there is.
    shuffle : PrivacyShuffle, optional
        Of mode shuffle: how replies reach the coordinator.
    """

    mode: Literal["isrl", "shuffle"]
    unit: Literal["record", "person", "sensitive_attribute"]
    noise: Literal["secure", "test"]
    person: PrivacyPerson | None = None
    silos_per_person: int | None = None
    clip_norm: float | None = None
    moments: PrivacyMoments | None = None
    coordinate_bound: float | None = None
    noise_law: Literal["gaussian", "generalised_gaussian"] | None = None
    calibration: PrivacyCalibration | None = None
    shuffle: PrivacyShuffle | None = None
    _keys = ("mode", "unit", "person", "silos_per_person", "noise", "clip_norm", "moments", "coordinate_bound", "noise_law", "calibration", "shuffle")


@dataclass(kw_only=True)
class Member(Section):
    r"""The member of a job.

    Parameters
    ----------
    silo : str
        Its name: the CN of its certificate; with count the first number in braces, as in clinic-{001}, from which
        the others count on.
    count : int, optional
        So many silos with what follows alike (default one).
    epsilon : float, optional
        Promised to every single record, for the whole run; or rho in its place.
    rho : float, optional
        In place of epsilon: zCDP, charged as the epsilon that it is at delta, at most 30.
    delta : float
        Of the same promise; 0 with epsilon makes all noise pure.
    records : int, optional
        N_i, the silo's training records: public.
    holdout_records : int, optional
        Records kept for evaluation: public.
    persons : int, optional
        Of unit person in place of records: the persons that train: public, where their number of records is
        secret.
    holdout_persons : int, optional
        Of unit person: persons kept for evaluation.
    holdout_public : bool
        The owner declared the holdout public: evaluated exactly, not protected.
    public_records : int, optional
        Records beside those, which the owner declared public when the data set was added (default 0): public.
    weight : int, optional
        Public weight in the mean (default: records).
    """

    silo: str
    delta: float
    holdout_public: bool
    count: int | None = None
    epsilon: float | None = None
    rho: float | None = None
    records: int | None = None
    holdout_records: int | None = None
    persons: int | None = None
    holdout_persons: int | None = None
    public_records: int | None = None
    weight: int | None = None
    _keys = ("silo", "count", "epsilon", "rho", "delta", "records", "holdout_records", "persons", "holdout_persons", "holdout_public", "public_records", "weight")


@dataclass(kw_only=True)
class AlgorithmServer(Section):
    r"""Of noisy_minibatch_sgd and dp_fermi: what the coordinator steps along (default: the mean gradient).

    Parameters
    ----------
    kind : {"none", "momentum", "adam"}
        The mean gradient, or what it leaves of earlier ones.
    beta : float, optional
        Of momentum: m <- beta m + g.
    beta1 : float, optional
        Of adam: of the mean of gradients.
    beta2 : float, optional
        Of adam: of the mean of their squares.
    epsilon : float, optional
        Of adam: added to the root.
    """

    kind: Literal["none", "momentum", "adam"]
    beta: float | None = None
    beta1: float | None = None
    beta2: float | None = None
    epsilon: float | None = None
    _keys = ("kind", "beta", "beta1", "beta2", "epsilon")


@dataclass(kw_only=True)
class AlgorithmReports(Section):
    r"""Of ldp_sgd and semi_ldp_sgd: how each record's clipped gradient is randomised by itself.

    Parameters
    ----------
    randomiser : {"direction", "gaussian_direction"}, optional
        Direction (the default): a direction from a cap around the record's own or from outside it, PrivUnit.
        gaussian_direction: a Gaussian vector from a half space, PrivUnitG.
    adapter : {"round", "lift", "normalise"}, optional
        How a gradient of length at most privacy.clip_norm becomes a direction. round (the default): its own or
        the opposite one, unbiased; lift: one in a dimension more, unbiased; normalise: its own, whatever its
        length, so that short gradients count like long ones.
    """

    randomiser: Literal["direction", "gaussian_direction"] | None = None
    adapter: Literal["round", "lift", "normalise"] | None = None
    _keys = ("randomiser", "adapter")


@dataclass(kw_only=True)
class AlgorithmStagePhase(Section):
    r"""One phase of algorithm, stage.

    Parameters
    ----------
    rounds : int
        R: steps.
    step_size : float
        Eta.
    proximity : float
        Lambda of lambda/2 \|w - c\|^2, c where the phase begins; steps are at most 2/lambda.
    radius : float, optional
        How far from its starting point (default, of localized_accelerated_sgd alone: all of the domain).
    clip_share : float, optional
        Of the subgradient methods: a phase's clip, as a share of the job's (default 1).
    relative_convexity : float, optional
        Of staged_mirror_descent: lambda of the proximity term lambda \|x - c\|_p^2/(2 (p - 1)), c where the phase
        began; steps are 2/(lambda (k+1)).
    """

    rounds: int
    step_size: float
    proximity: float
    radius: float | None = None
    clip_share: float | None = None
    relative_convexity: float | None = None
    _keys = ("rounds", "step_size", "proximity", "radius", "clip_share", "relative_convexity")


@dataclass(kw_only=True)
class AlgorithmStage(Section):
    r"""One stage of algorithm.

    Parameters
    ----------
    rounds : int
        R_k.
    upsilon : float
        At least twice the smoothness of what is minimised.
    phases : list[AlgorithmStagePhase], optional
        Of localized_accelerated_sgd and localized_mirror_descent: phase i reads a part of n/2^i records.
    depth : int, optional
        Of staged_tree_frank_wolfe: phases of the stage's trees.
    radius : float, optional
        Of staged_tree_frank_wolfe: how far in l1 the stage may move.
    """

    rounds: int
    upsilon: float
    phases: list[AlgorithmStagePhase] | None = None
    depth: int | None = None
    radius: float | None = None
    _keys = ("rounds", "upsilon", "phases", "depth", "radius")


@dataclass(kw_only=True)
class AlgorithmPhaseStage(Section):
    r"""One stage of algorithm, phase.

    Parameters
    ----------
    rounds : int
        R_k.
    upsilon : float
        At least twice the smoothness of what is minimised.
    """

    rounds: int
    upsilon: float
    _keys = ("rounds", "upsilon")


@dataclass(kw_only=True)
class AlgorithmPhase(Section):
    r"""One phase of algorithm.

    Parameters
    ----------
    proximity : float
        Lambda of lambda/2 \|w - c\|^2, c the phase's starting point.
    strong_convexity : float
        Of what is minimised, proximity included; 0 if it has none.
    stages : list[AlgorithmPhaseStage]
        One after the other, each from the last one's output.
    radius : float, optional
        How far from its starting point (default, of localized_accelerated_sgd alone: all of the domain).
    rounds : int, optional
        R: steps.
    step_size : float, optional
        Eta.
    clip_share : float, optional
        Of the subgradient methods: a phase's clip, as a share of the job's (default 1).
    relative_convexity : float, optional
        Of localized_mirror_descent: lambda of the proximity term lambda \|x - c\|_p^2/(2 (p - 1)), c where the
        phase began; steps are 2/(lambda (k+1)).
    """

    proximity: float
    strong_convexity: float
    stages: list[AlgorithmPhaseStage]
    radius: float | None = None
    rounds: int | None = None
    step_size: float | None = None
    clip_share: float | None = None
    relative_convexity: float | None = None
    _keys = ("proximity", "strong_convexity", "stages", "radius", "rounds", "step_size", "clip_share", "relative_convexity")


@dataclass(kw_only=True)
class AlgorithmVertices(Section):
    r"""Of private_frank_wolfe: among which every silo chooses; of the constrained methods, where no domain names
    the polytope: listed.

    Parameters
    ----------
    kind : {"l1_ball", "simplex", "listed"}
        The polytope that the model lies in, by its vertices; domain says the same, and whole_space of listed.
    radius : float, optional
        Of l1_ball: vertices +-radius e_j.
    scale : float, optional
        Of simplex: vertices scale e_j.
    points : list[list[float]], optional
        Of listed: the vertices, each with a number for each of the model.
    """

    kind: Literal["l1_ball", "simplex", "listed"]
    radius: float | None = None
    scale: float | None = None
    points: list[list[float]] | None = None
    _keys = ("kind", "radius", "scale", "points")


@dataclass(kw_only=True)
class AlgorithmGeometry(Section):
    r"""Of mirror descent: potential and norm.

    Parameters
    ----------
    potential : {"p_norm", "entropy", "euclidean"}
        Of mirror descent: half the square of a p-norm (over whole_space, l1_ball, simplex), the entropy (over
        simplex and, by its vertices' weights, l1_ball), half the square of the l2 norm (over every domain).
    norm : float, optional
        Of p_norm: p of the norm l_p in which points are apart; records' gradients are then clipped in l_q, 1/p +
        1/q = 1. Below 1 + 1/log2 d the potential takes that exponent.
    radius : float, optional
        Of p_norm with the domain whole_space: keeps the model in the ball of the potential's own norm.
    """

    potential: Literal["p_norm", "entropy", "euclidean"]
    norm: float | None = None
    radius: float | None = None
    _keys = ("potential", "norm", "radius")


@dataclass(kw_only=True)
class AlgorithmSet(Section):
    r"""Of noisy_frank_wolfe, poly_frank_wolfe and tree_frank_wolfe: its norm, and the ball's radius.

    Parameters
    ----------
    norm : float
        P of the norm l_p in which points are apart; records' gradients are then clipped in l_q, 1/p + 1/q = 1.
    radius : float, optional
        With the domain whole_space: of the ball of that norm that the model lies in.
    """

    norm: float
    radius: float | None = None
    _keys = ("norm", "radius")


@dataclass(kw_only=True)
class Algorithm(Section):
    r"""Default: noisy_minibatch_sgd of 50 rounds, whole batches, steps of 1 that fall as a cosine, the last
    iterate; of moments their one step; of networks none.

    Parameters
    ----------
    theorem : see the annotation, optional
        Instead of kind: chooses the algorithm and its numbers from public constants.
    smoothness : float, optional
        With theorem: beta of a record's loss in l2 (default: what the model and the features' public bounds
        prove, where they do; no less than that).
    strong_convexity : float, optional
        With theorem: mu of the whole objective in l2, or its proximal-PL constant (default: the regulariser's).
    gap : float, optional
        With theorem: at least F(w_0) - min F (default: clip norm, or the moment's bound, x diameter, where there
        is one; the proven L where that is longer).
    gradient_variance : float, optional
        With theorem: bound on the variance of a record's gradient (default: the square of the clip norm, or of
        the moment's bound).
    answering : float, optional
        With theorem: silos that answer a round (default: the cohort).
    heterogeneity : float, optional
        With theorem: bound on the mean over silos of \|grad F_i - grad F\|^2 (default 0, where all silos answer;
        required with an `answering` below the cohort).
    seed : int, optional
        Public.
    sampling : {"without_replacement", "with_replacement"}, optional
        With theorem: with replacement a batch is drawn as the source draws it, and a record may be in it several
        times (default without_replacement: a little less noise).
    kind : see the annotation, optional
        Docs/researchers-guide.md says which reads what.
    rounds : int, optional
        R: steps.
    step_size : float, optional
        Eta.
    draw_fraction : float, optional
        Of the records that a round reads (of prox_svrg: that a difference reads), drawn afresh without
        replacement; 1 is all.
    averaging : {"uniform", "last", "geometric", "tail"}, optional
        Of noisy_minibatch_sgd: which average of the iterates is the model; geometric weighs w_r by (1 - strength
        step_size)^-(r+1), tail averages the last ones.
    tail : float, optional
        With averaging tail: the share of the rounds, from the last one back.
    schedule : {"constant", "inverse_sqrt", "inverse_time", "cosine"}, optional
        Of noisy_minibatch_sgd and dp_fermi: step_size times 1, 1/sqrt(r+1), 1/(r+1) or (1 + cos(pi r/R))/2 in
        round r = 0 .. R-1 (default constant).
    server : AlgorithmServer, optional
        Of noisy_minibatch_sgd and dp_fermi: what the coordinator steps along (default: the mean gradient).
    passes : int, optional
        Of noisy_minibatch_sgd: passes over the records, each in rounds / passes parts of its own (default: every
        round reads all records, or draws some afresh). With "parts": "bins" every pass draws them anew.
    reports : AlgorithmReports, optional
        Of ldp_sgd and semi_ldp_sgd: how each record's clipped gradient is randomised by itself.
    reads : {"shared", "one_pass"}, optional
        Of accelerated_sgd: every round the same records, or each a part that no other reads.
    proximity : float, optional
        Lambda of lambda/2 \|w - c\|^2, c the phase's starting point.
    stages : list[AlgorithmStage], optional
        One after the other, each from the last one's output.
    phases : list[AlgorithmPhase], optional
        Of localized_accelerated_sgd and localized_mirror_descent: phase i reads a part of n/2^i records.
    radius : float, optional
        How far from its starting point (default, of localized_accelerated_sgd alone: all of the domain).
    clip_share : float, optional
        Of the subgradient methods: a phase's clip, as a share of the job's (default 1).
    restarts : int, optional
        S of prox_svrg: 1, or more for PL-SVRG.
    epochs : int, optional
        E of prox_svrg.
    inner : int, optional
        Q of prox_svrg: differences after each anchor.
    period : int, optional
        Q of spider: an anchor every q rounds.
    pairs : int, optional
        E - 1 of spider_alternate.
    local_steps : int, optional
        K of local runs: a silo's own steps in a round, of one record each unless local_batch says otherwise.
    local_batch : int, optional
        Of local_minibatch_sgd (at least 2), fedprox and scaffold: records of one local step, drawn afresh
        (default 1, of local_minibatch_sgd none).
    proximal : float, optional
        Lambda of fedprox: each step also goes back by step_size x lambda of its way from where the round began.
    iterates : int, optional
        T: of T-1 steps 2/(t+1), each to a vertex or an extreme point of the domain.
    vertices : AlgorithmVertices, optional
        Of private_frank_wolfe: among which every silo chooses; of the constrained methods, where no domain names
        the polytope: listed.
    choice : {"vote", "vector", "scores", "nominate"}, optional
        Of private_frank_wolfe: vote (default), every silo's own vertex, chosen within coordinate_bound; vector,
        the best for the mean of noised gradients, within clip_norm, which then bounds every coordinate; scores,
        the best for the mean of all vertices' noised scores; nominate, the best so of those that silos vote for,
        in two rounds.
    depth : int, optional
        Of tree_frank_wolfe and private_tree_frank_wolfe: T phases, of trees of depth 1 to T; 2^(T+1) - 2 rounds.
    potential : {"matched", "euclidean"}, optional
        Of constrained_mirror_descent and strongly_convex_mirror_descent: the set's own, or half the squared l2
        norm (default matched).
    relative_convexity : float, optional
        Of strongly_convex_mirror_descent: a public kappa, of the objective relative to the potential (default:
        the l2 regulariser's strength, where the potential is Euclidean).
    geometry : AlgorithmGeometry, optional
        Of mirror descent: potential and norm.
    norm : float, optional
        Of localized_mirror_descent and staged_mirror_descent: p of the norm l_p, from 1 to 2; clip_norm is then
        of l_q, 1/p + 1/q = 1. Of lp_sgd: p above 2 of the model's ball (default: infinity, a box).
    set : AlgorithmSet, optional
        Of noisy_frank_wolfe, poly_frank_wolfe and tree_frank_wolfe: its norm, and the ball's radius.
    notion : {"demographic_parity", "equalised_odds", "equal_opportunity"}, optional
        Of dp_fermi: what the prediction may not depend on the group for. demographic_parity (the default): for
        all records; equalised_odds: for the records of each label; equal_opportunity: for those of the advantaged
        label.
    advantaged : int, optional
        With notion equal_opportunity: the label's number, in the schema's order from 0 (default 1, the positive
        one).
    lambda_ : float, optional
        Of dp_fermi: of ERMI beside the loss; the larger, the fairer and the less accurate.
    weights_step_size : float, optional
        Of dp_fermi: of the adversary, at most 1 / (2 lambda) (default 0.4 / max(1, lambda)).
    share_floor : float, optional
        Of dp_fermi: no group is taken for a smaller share of the records (default 0.05, or half of an equal share
        where that is less); the smaller, the more noise.
    model_share : float, optional
        Of dp_fermi: of an answer's privacy, the model's part; the rest is the adversary's (default 0.5).
    shares : list[float], optional
        Of dp_fermi: the groups' shares of all records, in the schema's order, where they are public, as a census
        has them; of equalised_odds those of label 0 first, of equal_opportunity those of the advantaged label
        alone, each as a share of all records. They only weigh the groups, so that they need not be exact. Without
        them silos are asked in a round of its own, with noise.
    histogram_share : float, optional
        Of dp_fermi: of what a silo promises, what the groups' shares cost (default 0.1); not looked at where
        batches are drawn, as all rounds then cost alike.
    exposure : str, optional
        Of a model "poisson": a feature, at least 0, that a record's mean is proportional to, such as the time
        that it was observed; it is no covariate then (default: all records count alike).
    parts : {"permutation", "secret_permutation", "bins"}, optional
        Of a method that reads each record in one part: permutation (default), parts of fixed sizes that compose
        in parallel; secret_permutation, the same with one record at least in no part, which takes less noise and
        counts on the silo to keep secret who is in which; bins, every record draws its part for itself, which
        takes less still, counts on how many they are being secret too, and is worked on with rows to spare, for a
        linear model. The latter two of an epsilon and a delta.
    """

    theorem: Literal["minibatch_convex", "minibatch_strongly_convex", "one_pass_convex", "one_pass_convex_direct", "one_pass_strongly_convex", "accelerated_convex", "accelerated_convex_direct", "accelerated_strongly_convex", "proximal_sgd", "prox_svrg", "spider", "spider_alternate", "localized_convex", "localized_strongly_convex", "constrained_mirror_convex", "constrained_mirror_strongly_convex", "constrained_frank_wolfe", "noisy_mirror_convex", "noisy_frank_wolfe_convex", "regular_convex", "localized_mirror_convex", "staged_mirror_strongly_convex", "tree_frank_wolfe_convex", "poly_frank_wolfe_convex", "private_tree_frank_wolfe_convex", "staged_tree_frank_wolfe_strongly_convex", "lp_sgd_convex", "heavy_tailed_convex", "heavy_tailed_strongly_convex", "heavy_tailed_proximal", "heavy_tailed_localized", "heavy_tailed_staged"] | None = None
    smoothness: float | None = None
    strong_convexity: float | None = None
    gap: float | None = None
    gradient_variance: float | None = None
    answering: float | None = None
    heterogeneity: float | None = None
    seed: int | None = None
    sampling: Literal["without_replacement", "with_replacement"] | None = None
    kind: Literal["noisy_minibatch_sgd", "ldp_sgd", "semi_ldp_sgd", "accelerated_sgd", "localized_accelerated_sgd", "strongly_convex_sgd", "regularised_subgradient", "localized_subgradient", "staged_subgradient", "proximal_sgd", "prox_svrg", "spider", "spider_alternate", "local_sgd", "local_minibatch_sgd", "fedprox", "scaffold", "private_frank_wolfe", "private_tree_frank_wolfe", "staged_tree_frank_wolfe", "private_poly_frank_wolfe", "one_shot_frank_wolfe", "constrained_frank_wolfe", "constrained_mirror_descent", "strongly_convex_mirror_descent", "mirror_descent", "localized_mirror_descent", "objective_perturbation", "staged_mirror_descent", "stochastic_mirror_descent", "lp_sgd", "noisy_mirror_descent", "noisy_frank_wolfe", "poly_frank_wolfe", "tree_frank_wolfe", "throw_away", "dp_fermi", "fisher_scoring"] | None = None
    rounds: int | None = None
    step_size: float | None = None
    draw_fraction: float | None = None
    averaging: Literal["uniform", "last", "geometric", "tail"] | None = None
    tail: float | None = None
    schedule: Literal["constant", "inverse_sqrt", "inverse_time", "cosine"] | None = None
    server: AlgorithmServer | None = None
    passes: int | None = None
    reports: AlgorithmReports | None = None
    reads: Literal["shared", "one_pass"] | None = None
    proximity: float | None = None
    stages: list[AlgorithmStage] | None = None
    phases: list[AlgorithmPhase] | None = None
    radius: float | None = None
    clip_share: float | None = None
    restarts: int | None = None
    epochs: int | None = None
    inner: int | None = None
    period: int | None = None
    pairs: int | None = None
    local_steps: int | None = None
    local_batch: int | None = None
    proximal: float | None = None
    iterates: int | None = None
    vertices: AlgorithmVertices | None = None
    choice: Literal["vote", "vector", "scores", "nominate"] | None = None
    depth: int | None = None
    potential: Literal["matched", "euclidean"] | None = None
    relative_convexity: float | None = None
    geometry: AlgorithmGeometry | None = None
    norm: float | None = None
    set: AlgorithmSet | None = None
    notion: Literal["demographic_parity", "equalised_odds", "equal_opportunity"] | None = None
    advantaged: int | None = None
    lambda_: float | None = None
    weights_step_size: float | None = None
    share_floor: float | None = None
    model_share: float | None = None
    shares: list[float] | None = None
    histogram_share: float | None = None
    exposure: str | None = None
    parts: Literal["permutation", "secret_permutation", "bins"] | None = None
    _keys = ("theorem", "smoothness", "strong_convexity", "gap", "gradient_variance", "answering", "heterogeneity", "seed", "sampling", "kind", "rounds", "step_size", "draw_fraction", "averaging", "tail", "schedule", "server", "passes", "reports", "reads", "proximity", "stages", "phases", "radius", "clip_share", "restarts", "epochs", "inner", "period", "pairs", "local_steps", "local_batch", "proximal", "iterates", "vertices", "choice", "depth", "potential", "relative_convexity", "geometry", "norm", "set", "notion", "advantaged", "lambda", "weights_step_size", "share_floor", "model_share", "shares", "histogram_share", "exposure", "parts")


@dataclass(kw_only=True)
class Participation(Section):
    r"""May be left out.

    Parameters
    ----------
    quorum : int, optional
        Fewer answers than this fail a round, after asking once more (default: more than half of the silos).
    join_deadline_ms : int, optional
        From the start of the run to the first round: time for owners to approve (default: a week).
    round_deadline_ms : int, optional
        Of one round (default: ten minutes).
    resend_ms : int, optional
        How often an unanswered message is sent again (default 10000).
    grace_ms : int, optional
        With a quorum of answers a round waits no longer for silos that have been disconnected for this long,
        which then do not count in it; 0 (default): it waits for them until its deadline.
    """

    quorum: int | None = None
    join_deadline_ms: int | None = None
    round_deadline_ms: int | None = None
    resend_ms: int | None = None
    grace_ms: int | None = None
    _keys = ("quorum", "join_deadline_ms", "round_deadline_ms", "resend_ms", "grace_ms")


@dataclass(kw_only=True)
class Aggregation(Section):
    r"""What the coordinator makes of a round's answers.

    Parameters
    ----------
    kind : {"mean", "trimmed_mean", "geometric_median"}
        The last two withstand silos that lie; every answer of a round is held, and no theorem speaks of the
        outcome.
    trim : float, optional
        Of trimmed_mean: the share of the weight left out at either end.
    missing_silos : {"renormalised", "scaled"}, optional
        Of mean, where M of N silos answer: renormalised divides by the weights of these M; scaled by all N silos'
        weights, times N/M, which is unbiased where any M silos are as likely to answer (default: renormalised, of
        a job that names a theorem scaled).
    """

    kind: Literal["mean", "trimmed_mean", "geometric_median"]
    trim: float | None = None
    missing_silos: Literal["renormalised", "scaled"] | None = None
    _keys = ("kind", "trim", "missing_silos")


@dataclass(kw_only=True)
class Evaluation(Section):
    r"""May be left out.

    Parameters
    ----------
    every : int, optional
        Evaluate after so many steps; 0 (default): only after the last.
    metrics : {"basic", "detailed", "groups"}, optional
        Basic (default): loss, accuracy, share of positives; of a number the loss alone. detailed: also confusion
        table and AUC; of a number RMSE, MAE, R^2. groups: also a confusion table of each group of the sensitive
        columns, and how far groups are apart. Public holdouts are evaluated exactly either way; of private ones
        more numbers share the same noised answer, so each has more noise.
    persons : {"mean", "one_record"}, optional
        Of unit person: mean (default): a person counts with the mean over her records' scores. one_record: with
        the scores of one of her records, drawn afresh and in secret, as if she had no other.
    """

    every: int | None = None
    metrics: Literal["basic", "detailed", "groups"] | None = None
    persons: Literal["mean", "one_record"] | None = None
    _keys = ("every", "metrics", "persons")


@dataclass(kw_only=True)
class SimulationFile(Section):
    r"""How csv is written.

    Parameters
    ----------
    separator : {",", ";", "tab", "|", "blank"}, optional
        What stands between cells (default a comma); a blank is one blank each.
    decimal : {"point", "comma"}, optional
        How numbers are written: 1.5 or 1,5 (default point).
    grouped : bool, optional
        Digits may stand in groups of three, with the other mark between: 12,345.6 or 12.345,6 (default false).
    encoding : {"UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"}, optional
        How the file's bytes are text (default UTF-8).
    """

    separator: Literal[",", ";", "tab", "|", "blank"] | None = None
    decimal: Literal["point", "comma"] | None = None
    grouped: bool | None = None
    encoding: Literal["UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"] | None = None
    _keys = ("separator", "decimal", "grouped", "encoding")


@dataclass(kw_only=True)
class SimulationIdx(Section):
    r"""Instead of csv: images as MNIST has them, plain or compressed with gzip; their columns are label, p0, p1,
    ... of 0 to 255, row by row.

    Parameters
    ----------
    images : str
        Relative to the job's file.
    labels : str
        Relative to the job's file.
    """

    images: str
    labels: str
    _keys = ("images", "labels")


@dataclass(kw_only=True)
class SimulationTestFile(Section):
    r"""How csv is written.

    Parameters
    ----------
    separator : {",", ";", "tab", "|", "blank"}, optional
        What stands between cells (default a comma); a blank is one blank each.
    decimal : {"point", "comma"}, optional
        How numbers are written: 1.5 or 1,5 (default point).
    grouped : bool, optional
        Digits may stand in groups of three, with the other mark between: 12,345.6 or 12.345,6 (default false).
    encoding : {"UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"}, optional
        How the file's bytes are text (default UTF-8).
    """

    separator: Literal[",", ";", "tab", "|", "blank"] | None = None
    decimal: Literal["point", "comma"] | None = None
    grouped: bool | None = None
    encoding: Literal["UTF-8", "UTF-16", "Windows-1252", "ISO-8859-1"] | None = None
    _keys = ("separator", "decimal", "grouped", "encoding")


@dataclass(kw_only=True)
class SimulationTestIdx(Section):
    r"""Instead of csv: images as MNIST has them, plain or compressed with gzip; their columns are label, p0, p1,
    ... of 0 to 255, row by row.

    Parameters
    ----------
    images : str
        Relative to the job's file.
    labels : str
        Relative to the job's file.
    """

    images: str
    labels: str
    _keys = ("images", "labels")


@dataclass(kw_only=True)
class SimulationTest(Section):
    r"""Records of their own to evaluate on, with csv, idx or cifar as above: each silo gets its holdout_records
    of them, by the same partition.

    Parameters
    ----------
    csv : str, optional
        A table with a header, relative to the job's file.
    file : SimulationTestFile, optional
        How csv is written.
    idx : SimulationTestIdx, optional
        Instead of csv: images as MNIST has them, plain or compressed with gzip; their columns are label, p0, p1,
        ... of 0 to 255, row by row.
    cifar : list[str], optional
        Instead of csv: binary batches of CIFAR-10, relative to the job's file; columns label, p0, p1, ... of 0 to
        255, pixel by pixel, row by row.
    """

    csv: str | None = None
    file: SimulationTestFile | None = None
    idx: SimulationTestIdx | None = None
    cifar: list[str] | None = None
    _keys = ("csv", "file", "idx", "cifar")


@dataclass(kw_only=True)
class Simulation(Section):
    r"""Where undertone simulate and partition find data; silos ignore it.

    Parameters
    ----------
    csv : str, optional
        A table with a header, relative to the job's file.
    file : SimulationFile, optional
        How csv is written.
    idx : SimulationIdx, optional
        Instead of csv: images as MNIST has them, plain or compressed with gzip; their columns are label, p0, p1,
        ... of 0 to 255, row by row.
    cifar : list[str], optional
        Instead of csv: binary batches of CIFAR-10, relative to the job's file; columns label, p0, p1, ... of 0 to
        255, pixel by pixel, row by row.
    test : SimulationTest, optional
        Records of their own to evaluate on, with csv, idx or cifar as above: each silo gets its holdout_records
        of them, by the same partition.
    partition_seed : int
        Deals the rows to the silos.
    partition : {"random", "by_target", "sorted", "label", "label_pair", "dirichlet"}, optional
        Which records a silo gets, the cohort says how many. by_target: slices in the order of the label; sorted:
        in the order of a column's number; label: silo i has class i mod C alone; label_pair: of ten classes silo
        5a + b has 2a and 2b + 1, where silos count from 0 in the order of their names, so that a cohort's pattern
        wants digits enough, as in {01}; dirichlet: class proportions drawn for each silo (default random).
    partition_column : str, optional
        The class or number that a partition goes by (default: the label's column).
    sharing : {"disjoint", "shared"}, optional
        Of label_pair, with test: five silos hold the same records, as in the source, and no silo's epsilon bounds
        what all of them say of one (default disjoint).
    concentration : float, optional
        Of dirichlet: the less, the less alike the silos are.
    holdout_fraction : float, optional
        Of each silo's rows; none with test.
    holdout_seed : int, optional
        Chooses them; with test, where they stand in a silo's file.
    person_column : str, optional
        Of unit person: the column of csv that holds a person's id.
    """

    partition_seed: int
    csv: str | None = None
    file: SimulationFile | None = None
    idx: SimulationIdx | None = None
    cifar: list[str] | None = None
    test: SimulationTest | None = None
    partition: Literal["random", "by_target", "sorted", "label", "label_pair", "dirichlet"] | None = None
    partition_column: str | None = None
    sharing: Literal["disjoint", "shared"] | None = None
    concentration: float | None = None
    holdout_fraction: float | None = None
    holdout_seed: int | None = None
    person_column: str | None = None
    _keys = ("csv", "file", "idx", "cifar", "test", "partition_seed", "partition", "partition_column", "sharing", "concentration", "holdout_fraction", "holdout_seed", "person_column")


@dataclass(kw_only=True)
class Job(Section):
    r"""What is computed, by whom, and what it is promised to cost.

    Parameters
    ----------
    format : {"undertone.job/1"}
        What this file is.
    name : str, optional
        For people (default "unnamed").
    data : Data
        What every silo's file holds: public, fixed without looking at records.
    statistics : Statistics, optional
        Instead of model, algorithm, domain, regulariser, evaluation and wire: statistics of the silos' training
        records, each asked for once.
    projection : Projection, optional
        Public: what the model reads instead of the features, as undertone components has it.
    standardisation : Standardisation, optional
        Public: the encoded features less an origin, over a scale, as undertone standardisation makes it of a job
        of statistics.
    model : Model, optional
    domain : Domain, optional
        Default: a ball of radius 10; of moments, networks and fisher_scoring the whole space.
    regulariser : Regulariser, optional
        Default: l2 of strength 0.001; of moments, networks and fisher_scoring none.
    wire : Wire, optional
        May be left out.
    initial : Initial, optional
        Public: where the run starts (default: zero, and of a network its seed's weights).
    public : Public, optional
        Records that need no protection and better each step: a file that stays with the coordinator, records that
        silos' owners declared public, or both (default: none).
    privacy : Privacy
    weights : {"records", "equal", "noise_optimal"}, optional
        Instead of each silo's weight: in proportion to its records, all alike, or for the mean with the least
        noise, in proportion to (records x the Gaussian shift of its promise)^2, which moves the objective towards
        these silos' records.
    cohort : list[Member]
        The silos, with what is public about each.
    algorithm : Algorithm, optional
        Default: noisy_minibatch_sgd of 50 rounds, whole batches, steps of 1 that fall as a cosine, the last
        iterate; of moments their one step; of networks none.
    participation : Participation, optional
        May be left out.
    aggregation : Aggregation, optional
        What the coordinator makes of a round's answers.
    evaluation : Evaluation, optional
        May be left out.
    simulation : Simulation, optional
        Where undertone simulate and partition find data; silos ignore it.
    """

    format: Literal["undertone.job/1"] = "undertone.job/1"
    data: Data
    privacy: Privacy
    cohort: list[Member]
    name: str | None = None
    statistics: Statistics | None = None
    projection: Projection | None = None
    standardisation: Standardisation | None = None
    model: Model | None = None
    domain: Domain | None = None
    regulariser: Regulariser | None = None
    wire: Wire | None = None
    initial: Initial | None = None
    public: Public | None = None
    weights: Literal["records", "equal", "noise_optimal"] | None = None
    algorithm: Algorithm | None = None
    participation: Participation | None = None
    aggregation: Aggregation | None = None
    evaluation: Evaluation | None = None
    simulation: Simulation | None = None
    _keys = ("format", "name", "data", "statistics", "projection", "standardisation", "model", "domain", "regulariser", "wire", "initial", "public", "privacy", "weights", "cohort", "algorithm", "participation", "aggregation", "evaluation", "simulation")
