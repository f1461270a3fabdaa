"""Targets for speed, memory and quality, one line per benchmark."""

from __future__ import annotations

from bench.line import Promise, Target


def least(number: float) -> Target:
    return Target("≥", number)


def most(number: float) -> Target:
    return Target("≤", number)


def under(number: float) -> Target:
    return Target("<", number)


PLA = (
    Promise("pla.clean-1000000x30", 2, "one epoch without mistakes, 1,000,000 × 30 float64, compared with one-thread X @ w", most(1.3)),
    Promise("pla.clean-50000x784", 2, "one epoch without mistakes, 50,000 × 784 float32, compared with one-thread X @ w", most(1.3)),
    Promise("pla.dense-100000x10", 22, "5 epochs in file order, 100,000 × 10 float64, compared with scikit-learn's Perceptron", least(4.5), "× faster"),
    Promise("pla.dense-1000000x30", 22, "5 epochs in file order, 1,000,000 × 30 float64, compared with scikit-learn's Perceptron", least(3), "× faster"),
    Promise("pla.dense-200000x100", 2, "5 epochs in file order, 200,000 × 100 float64, compared with scikit-learn's Perceptron", least(2.5), "× faster"),
    Promise("pla.csr-100000x47000", 22, "5 epochs in file order, CSR 100,000 × 47,000, about 67 entries per row, compared with scikit-learn's Perceptron", least(1.3), "× faster"),
    Promise("pla.limit-csr-flat", 22, "one epoch on CSR, 100,000 × 47,000, compared with one flat pass over the entries, without rows and updates"),
    Promise("pla.limit-csr-stream", 22, "one epoch on CSR, 100,000 × 47,000, compared with only reading the entries and their columns"),
    Promise("pla.limit-csr-product", 22, "one epoch on CSR, 100,000 × 47,000, compared with SciPy's X @ w"),
    Promise("pla.limit-dense-stream", 22, "one epoch, 1,000,000 × 30 float64, compared with only reading the numbers"),
    Promise("pla.fit-1000x10", 2, "fit of 1,000 × 10 once compiled, compared with scikit-learn's Perceptron", least(3), "× faster"),
    Promise("pla.memory-1000000x30", 2, "extra memory while fitting 1,000,000 × 30 float64 (10 % of X and 16 bytes per row)", most(40), "bytes per row"),
    Promise("pla.trace-memory", 2, "size of the trace, without the ends of epochs", most(8), "bytes per update"),
    Promise("pla.import", 2, "a process that imports rosenblatt, compared with one that imports numpy", most(1.2)),
    Promise("pla.import-heavy", 2, "modules of numba, scikit-learn and pyarrow loaded by import rosenblatt", most(0), "modules"),
    Promise("pla.first-call", 2, "first fit in a new process with nothing compiled: time until the first message on the terminal", most(0.5), "s"),
    Promise("pla.experiment-1000", 2, "1,000 experiments of N = 100 once compiled (well under two seconds)", under(1), "s"),
    Promise("pla.separated-200", 2, "separable data sets that the default settings separate, of 200 (N = 300, d = 10, margin 0.02)", least(200), "sets"),
    Promise("pla.peer-sgd", 9, "5 epochs, 100,000 × 10, compared with scikit-learn's SGDClassifier(loss='perceptron')", None, "× faster"),
    Promise("pla.peer-linearsvc", 9, "fit until separated, 100,000 × 10 with margin 0.3, compared with scikit-learn's LinearSVC", None, "× faster"),
    Promise("pla.peer-mlxtend", 9, "5 epochs, 5,000 × 10, compared with mlxtend's Perceptron", None, "× faster"),
)  # fmt: skip

SEPARABILITY = (
    Promise("separability.20000x20-separable", 3, "20,000 × 20, margin 0.02, proof and check included, compared with SciPy's HiGHS", least(15), "× faster"),
    Promise("separability.20000x20-flipped", 3, "20,000 × 20, three flipped labels, proof and check included, compared with SciPy's HiGHS", least(15), "× faster"),
    Promise("separability.20000x100-separable", 3, "20,000 × 100, margin 0.02, proof and check included, compared with SciPy's HiGHS", least(10), "× faster"),
    Promise("separability.20000x100-flipped", 3, "20,000 × 100, three flipped labels, proof and check included, compared with SciPy's HiGHS", least(10), "× faster"),
    Promise("separability.1000000x30-separable-time", 3, "1,000,000 × 30, separable: time, compared with (passes reported) × one X @ w", most(1.5)),
    Promise("separability.1000000x30-separable-memory", 3, "1,000,000 × 30, separable: memory", most(1.3), "× the data"),
    Promise("separability.1000000x30-flipped-time", 22, "1,000,000 × 30, three flipped labels: time, compared with (passes reported) × one X @ w", most(1.5)),
    Promise("separability.1000000x30-flipped-memory", 3, "1,000,000 × 30, three flipped labels: memory", most(1.3), "× the data"),
    Promise("separability.sms", 3, "word counts of SMSSpamCollection, widest=False, compared with SciPy's HiGHS", least(2), "× faster"),
    Promise("separability.uneven-4601x57", 22, "4,601 × 57 resembling spambase, unscaled columns, proof and check included", most(2), "s"),
)  # fmt: skip

SEPARATION = (
    Promise("separation.10000x50-quasi", 18, "10,000 × 50 with quasi-complete separation, proof and check included, compared with one SciPy HiGHS program per coefficient", least(5), "× faster"),
    Promise("separation.firthmodels-10000x50", 32, "10,000 × 50 with quasi-complete separation, compared with firthmodels' detect_separation, one linear program", least(3), "× faster"),
    Promise("separation.gravity-792x278-poisson", 32, "exporter-year, importer-year and pair effects and two columns, CSR 792 × 278, Poisson, proof and check included", most(0.3), "s"),
    Promise("separation.gravity-792x278-binomial", 32, "the same panel, binomial", most(0.3), "s"),
    Promise("separation.gravity-8700x1472-poisson", 32, "exporter-year, importer-year and pair effects and two columns, CSR 8,700 × 1,472, Poisson, proof and check included", most(1), "s"),
    Promise("separation.gravity-8700x1472-binomial", 32, "the same panel, binomial", most(5), "s"),
    Promise("separation.gravity-million", 32, "exporter-year, importer-year and pair effects and two columns, CSR 1,076,400 × 96,902, Poisson, proof and check included", most(30), "s"),
    Promise("separation.gravity-memory", 32, "CSR 1,076,400 × 96,902, Poisson: memory of the process", most(6), "GB"),
    Promise("separation.crossed-100000x20000", 18, "two crossed fixed effects, CSR 100,000 × 20,000, Poisson, proof and check included", under(60), "s"),
    Promise("separation.crossed-memory", 18, "two crossed fixed effects, CSR 100,000 × 20,000, Poisson: memory of the process", under(2), "GB"),
    Promise("separation.zoo-ours", 18, "300 small data sets, columns scaled from 1e-6 to 1e6, overlaps of 1e-8: sets where rosenblatt misjudges a coefficient", most(0), "sets"),
    Promise("separation.zoo-highs", 18, "300 small data sets: sets where the HiGHS linear program with tolerance 1e-4 misjudges a coefficient", None, "sets"),
    Promise("separation.zoo-firthmodels", 18, "300 small data sets: sets where firthmodels misjudges a coefficient", None, "sets"),
)  # fmt: skip

POCKET = (
    Promise("pocket.compiled-50000x50", 4, "pocket algorithm, 50,000 × 50, 2,000 updates, compared with the compiled loop that evaluates one vector at a time", least(10), "× faster"),
    Promise("pocket.numpy-50000x50", 22, "pocket algorithm, 50,000 × 50, 2,000 updates, compared with the NumPy loop that evaluates one vector at a time", least(80), "× faster"),
    Promise("pocket.limit-50000x50", 22, "pocket algorithm, 50,000 × 50, 2,000 updates, compared with only the 16-bit products that are unavoidable"),
    Promise("pocket.products-1000000x30", 4, "pocket algorithm, 1,000,000 × 30, 1,000 updates: the whole run", most(3), "matrix products per block"),
    Promise("pocket.memory-1000000x30", 4, "pocket algorithm, 1,000,000 × 30, 1,000 updates: memory", most(1.5), "× the data"),
    Promise("pocket.fukuml", 4, "pocket algorithm, 50,000 × 50, 300 updates, compared with FukuML's PocketPLA", least(500), "× faster"),
    Promise("pocket.fukuml-homework", 4, "pocket algorithm at the size of the homework, 500 × 4, 50 updates, compared with FukuML's PocketPLA", None, "× faster"),
)  # fmt: skip

FEWEST = (
    Promise("fewest.breast", 4, "breast with id, 10 s (published: 10)", most(10), "mistakes"),
    Promise("fewest.heart", 4, "heart, 10 s (published: 25)", most(25), "mistakes"),
    Promise("fewest.pima", 4, "pima, 10 s (published: 156)", most(148), "mistakes"),
    Promise("fewest.plane-2000", 4, "the optimum in the plane, 2,000 points: mistakes above the proved lower bound", most(0), "mistakes"),
    Promise("fewest.plane-2000-time", 19, "the optimum in the plane, 2,000 points: time until the optimum is proved", most(1), "s"),
    Promise("fewest.cells-300x3", 19, "the optimum of 300 × 3 integers: time until the optimum is proved", most(2), "s"),
    Promise("fewest.hw1-18", 19, "homework 1.18, 500 × 4, seconds until the optimum is proved", most(60), "s"),
    Promise("fewest.proved-breast", 19, "breast with id: seconds until the optimum is proved, proof included", most(10), "s"),
    Promise("fewest.proved-votes", 19, "house votes: seconds until the optimum is proved, proof included", most(10), "s"),
    Promise("fewest.proved-heart5f", 19, "one fold of heart, 152 × 20: seconds until the optimum is proved, proof included (published: 33 s)", most(10), "s"),
    Promise("fewest.brooks", 19, "17 data sets of Brooks (15 simulated, one fold each of breast and heart), 60 s each: optima proved", least(17), "sets"),
    Promise("fewest.brooks-slowest", 19, "17 data sets of Brooks (15 simulated, one fold each of breast and heart): seconds until the slowest is proved optimal (published: 143 s)", most(60), "s"),
    Promise("fewest.n200d5a", 19, "simulated set of Brooks, type A, 200 × 5: seconds until the optimum is proved (published: 294 s)", most(150), "s"),
    Promise("fewest.n100d10b", 19, "simulated set of Brooks, type B, 100 × 10: seconds until the optimum is proved (published: 1 of 5 such sets proved in 600 s)", most(600), "s"),
    Promise("fewest.n200d5b", 19, "simulated set of Brooks, type B, 200 × 5: seconds until the optimum is proved (published: 1 of 5 such sets proved in 600 s)", most(600), "s"),
    Promise("fewest.bound-bupa", 19, "one fold of bupa, 193 × 6, 60 s: proved lower bound (published, after 600 s: 29.7)", least(29.7), "mistakes"),
    Promise("fewest.bound-pima", 19, "one fold of pima, 400 × 8, 60 s: proved lower bound (published, after 600 s: 37.5)", least(37.5), "mistakes"),
    Promise("fewest.bound-n200d10a", 19, "simulated set of Brooks, type A, 200 × 10, 60 s: proved lower bound (published, after 600 s: 16.3)", least(16.3), "mistakes"),
    Promise("fewest.bound-n500d5a", 19, "simulated set of Brooks, type A, 500 × 5, 60 s: proved lower bound (published, after 600 s: 57.1)", least(57.1), "mistakes"),
    Promise("fewest.bound-n500d10a", 19, "simulated set of Brooks, type A, 500 × 10, 60 s: proved lower bound (published, after 600 s: 34.5)", least(34.5), "mistakes"),
    Promise("fewest.checking", 19, "checking a proof, as a share of finding it: the largest of those that took a second or more", most(0.1), "× finding it"),
    Promise("fewest.1000000x30", 4, "1,000,000 × 30, 10 s: mistakes, as a share of the pocket's in 2 s", under(1), "× the pocket's"),
)  # fmt: skip

CLI = (
    Promise("cli.learn", 22, "rosenblatt learn on the built-in credit data, compared with python -c 'import sklearn.linear_model'", most(0.6)),
    Promise("cli.learn-cold", 22, "rosenblatt learn on the built-in credit data, nothing compiled yet", most(4), "s"),
    Promise("cli.learn-cold-larger", 22, "rosenblatt learn on CSV, 20,000 × 10, separable, nothing compiled yet", None, "s"),
    Promise("cli.stream-first", 22, "rosenblatt stream, from the start of the process to the first prediction, the slower of CSV and JSON lines", most(0.5), "s"),
    Promise("cli.help", 5, "rosenblatt --help, compared with python -c 'import numpy'", most(1)),
    Promise("cli.predict-parquet", 5, "predict 2,000,000 × 30 Parquet to Parquet, peak memory", under(500), "MB"),
    Promise("cli.predict-csv", 5, "predict 2,000,000 × 30 Parquet to CSV, peak memory", under(500), "MB"),
)  # fmt: skip

ONLINE = (
    Promise("online.one-river", 6, "predict_one + learn_one, dict of 30 features, compared with River's Perceptron", least(2), "× faster"),
    Promise("online.block-river", 22, "learn_many on 1,000-row blocks, per row, compared with River's learn_one", least(100), "× faster"),
    Promise("online.block-sklearn", 6, "learn_many on 1,000-row blocks, per row, compared with scikit-learn's partial_fit of one row", least(20), "× faster"),
    Promise("online.csv-vw", 6, "rosenblatt stream on CSV, 30 columns, rows per second compared with Vowpal Wabbit", least(2), "× faster"),
    Promise("online.parquet-vw", 6, "rosenblatt stream on Parquet, 30 columns, rows per second compared with Vowpal Wabbit", least(15), "× faster"),
    Promise("online.jsonl-rate", 22, "rosenblatt stream on JSON lines, 8 numbers per row, after start-up", least(300_000), "rows per second"),
    Promise("online.jsonl-river", 22, "rosenblatt stream on JSON lines, compared with River's Perceptron fed by Python's json", least(5), "× faster"),
    Promise("online.memory-10000000", 6, "memory growth between the first 100,000 and the last of 10,000,000 rows", under(20), "MB"),
)  # fmt: skip

PAGE = (
    Promise("page.frame-100000", 7, "median frame time while the slider moves, 2,000 points and 100,000 updates", under(16), "ms"),
    Promise("page.first-step", 20, "from the click to the first step drawn, 2,000 points and 100,000 updates", most(0.2), "s"),
)  # fmt: skip

BIG = (
    Promise("big.pass-32000000x30", 8, "a pass over 32,000,000 × 30 Parquet on one process, compared with reading it with PyArrow alone", most(1.3)),
    Promise("big.limit-4gb", 8, "a 4 GB file, 8 × the memory limit of the process: peak memory", most(1), "× the limit"),
)  # fmt: skip

DASK = (
    Promise("dask.round-2000000x30", 8, "one round on 2,000,000 × 30 float32, 8 partitions in the workers' memory, in excess of the kernel's own time", most(70), "ms"),
    Promise("dask.incremental", 8, "one pass over the partitions, compared with dask_ml's Incremental with scikit-learn's Perceptron", least(4), "× faster"),
)  # fmt: skip

GROWTH = tuple(
    Promise(f"growth.{what}-{along}", 9, f"{work}: time ∝ {letter}^b, {letter} doubled four times; b", None, "exponent")
    for what, work in (
        ("pla", "PLA, five epochs"),
        ("pocket", "pocket, 500 updates"),
        ("separability", "separability with its proof"),
        ("stream", "learn_many in blocks of 1,000"),
    )
    for along, letter in (("rows", "N"), ("columns", "d"))
)  # fmt: skip

QUALITY = tuple(
    Promise(f"quality.{kind}-{who}", 9, f"200 data sets {said}, margins from 0.1 to 1e-6: separated by {way}", target, "sets")
    for kind, said in (
        ("exact", "whose maximum margin is known exactly"),
        ("planted", "with at least the given margin"),
    )
    for who, way, target in (
        ("ours", "rb.Perceptron()", None),
        ("sklearn", "scikit-learn's Perceptron()", None),
        ("proved", "rb.separability, proof checked", least(200)),
    )
)  # fmt: skip

FAMILY = (
    Promise("family.dense-50000x784", 21, "5 epochs in file order, 50,000 × 784 float32 with 10 labels, compared with scikit-learn's Perceptron, one-vs-rest", least(3), "× faster"),
    Promise("family.accuracy", 21, "50,000 × 784 float32 with 10 labels: held-out accuracy above scikit-learn's", least(0), "points"),
    Promise("family.csr-20000x50000", 21, "5 epochs in file order, CSR 20,000 × 50,000 with 20 labels, compared with scikit-learn's Perceptron", least(2), "× faster"),
    Promise("family.average", 21, "5 epochs, 50,000 × 784 float32 with 10 labels, average=True compared with average=False", most(1.15)),
    Promise("family.verdict-10000x50", 21, "the verdict about 10,000 × 50 with 5 labels, with proof, compared with SciPy's HiGHS on the full linear program", least(10), "× faster"),
)  # fmt: skip

LIMITS = (
    Promise("limits.learn-3000x400", 29, "rb.learn(time_limit=1), 3,000 × 400 random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
    Promise("limits.learn-3000x600", 29, "rb.learn(time_limit=3), 3,000 × 600 random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
    Promise("limits.learn-200000x50", 29, "rb.learn(time_limit=1), 200,000 × 50 random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
    Promise("limits.learn-labels-2000x200", 29, "rb.learn(time_limit=1), 2,000 × 200 with 3 labels random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
    Promise("limits.learn-labels-200000x50", 29, "rb.learn(time_limit=1), 200,000 × 50 with 3 labels random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
    Promise("limits.fewest-3000x400", 29, "rb.fewest_mistakes(time_limit=1), 3,000 × 400 random data: slowest of 3 runs, as a share of twice the limit plus 0.5 s", most(1)),
)  # fmt: skip

PROMISES = {
    promise.id: promise
    for promise in (
        *PLA, *SEPARABILITY, *SEPARATION, *POCKET, *FEWEST, *CLI, *ONLINE, *PAGE, *BIG, *DASK, *GROWTH,
        *QUALITY, *FAMILY, *LIMITS
    )
}  # fmt: skip
