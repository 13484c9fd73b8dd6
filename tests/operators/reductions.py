"""Reductions, scans, softmax, sorting."""

from draw import ANY, FLOATS, NUMBERS, OMIT, Name, call, csp, operator


def reduced(d, dtypes=FLOATS, values="normal", several=True, plain_too=True):
    """(tensor, {dim, keepdim}) of a reduction."""
    shape = d.shape()
    x = d.tensor(shape, d.dtype(dtypes), values)
    how = d.option("dim", *(["all"] if plain_too else []), "one", *(["several"] if several else []))
    if how == "all":
        return x, {}
    rank = len(shape)
    dim = d.dim(rank) if how == "one" or not rank else d.dims(rank)
    return x, {"dim": dim, "keepdim": d.flag("keepdim")}


def accumulated(d, name, dtypes=NUMBERS):
    x, where = reduced(d, dtypes)
    kinds = (OMIT, OMIT, OMIT, "float32", "float64") if d.edges else (OMIT,)
    dtype = d.option("dtype", *kinds)
    if dtype is not OMIT:
        where["dtype"] = Name("torch." + dtype)
    return call(name, x, **where)


@csp("Sum", "dim keepdim dtype")
def sum_(d):
    return accumulated(d, "torch.sum", ANY)


@csp("Mean", "dim keepdim dtype")
def mean(d):
    return accumulated(d, "torch.mean", FLOATS)


@operator("Prod", "dim keepdim")
def prod(d):
    x, where = reduced(d, NUMBERS, "unit", several=False)
    return call("torch.prod", x, **where)


def extreme(name, function):
    @csp(name, "dim keepdim results")
    def draw(d):
        x, where = reduced(d, NUMBERS, several=False)
        if not where:
            return call("torch." + function, x)
        if d.option("results", "both", "values", "amax") == "amax":
            return call("torch.a" + function, x, **where)
        suffix = "" if d.parameters["results"] == "'both'" else ".values"
        return call("torch." + function, x, **where) + suffix


extreme("Max", "max")
extreme("Min", "min")


@csp("ArgMax", "dim keepdim")
def argmax(d):
    x, where = reduced(d, NUMBERS, several=False)
    return call("torch.argmax", x, **where)


@csp("ArgMin", "dim keepdim")
def argmin(d):
    x, where = reduced(d, NUMBERS, several=False)
    return call("torch.argmin", x, **where)


def spread(name, function, csp_dag):
    @operator(name, "dim keepdim correction", csp_dag)
    def draw(d):
        x, where = reduced(d)
        how = d.option("correction", OMIT, 0, 1, 2, "unbiased")
        if how == "unbiased":
            where["unbiased"] = d.chance(0.5)
        else:
            where["correction"] = how
            if how is not OMIT and "dim" not in where:
                where["dim"] = None
        return call("torch." + function, x, **where)


spread("Var", "var", True)
spread("Std", "std", False)


@operator("VarMean", "dim keepdim")
def var_mean(d):
    x, where = reduced(d)
    return call(d.rng.choice(("torch.var_mean", "torch.std_mean")), x, **where)


@csp("Norm", "p dim keepdim")
def norm(d):
    x, where = reduced(d, several=d.chance(0.5))
    p = d.option("p", OMIT, 1, 2, 3, 0.5, 0, float("inf"), -float("inf"))
    if d.chance(0.5):
        return call("torch.linalg.vector_norm", x, p, **where)
    if not isinstance(where.get("dim", 0), int) and p is not OMIT:
        return call("torch.linalg.vector_norm", x, p, **where)
    return call("torch.norm", x, p=p, **where)


@operator("Normalize", "p dim eps")
def normalize(d):
    shape = d.shape()
    return call("F.normalize", d.tensor(shape, d.dtype(FLOATS)), p=d.option("p", OMIT, 1.0, 3.0),
                dim=d.dim(len(shape)), eps=d.option("eps", OMIT, 1e-3))


@operator("LogSumExp", "dim keepdim")
def logsumexp(d):
    x, where = reduced(d, plain_too=False)
    return call("torch.logsumexp", x, **where)


def truth(name, function):
    @operator(name, "dim keepdim")
    def draw(d):
        x, where = reduced(d, ANY)
        return call("torch." + function, x, **where)


truth("Any", "any")
truth("All", "all")


@operator("CountNonzero", "dim")
def count_nonzero(d):
    x, where = reduced(d, ANY, several=False)
    where.pop("keepdim", None)
    return call("torch.count_nonzero", x, **where)


@operator("Median", "dim keepdim")
def median(d):
    shape = d.shape()
    x = d.tensor(shape, d.dtype(("float32", "int64")), "distinct")
    if d.option("dim", "all", "one") == "all":
        return call("torch.median", x)
    return call("torch.median", x, dim=d.dim(len(shape)), keepdim=d.flag("keepdim"))


# ---- Scans

def scan(name, function, csp_dag, dtypes=NUMBERS, values="normal", parameters="dim"):
    @operator(name, parameters, csp_dag)
    def draw(d):
        shape = d.shape()
        x = d.tensor(shape, d.dtype(dtypes), values)
        dim = d.option("dim", d.dim(len(shape)))
        kwargs = {}
        if "dtype" in parameters and d.edges and d.option("dtype", OMIT, OMIT, 1) == 1:
            kwargs["dtype"] = Name("torch.float64")
        return call("torch." + function, x, dim, **kwargs)


scan("CumSum", "cumsum", True, ANY, parameters="dim dtype")
scan("CumProd", "cumprod", False, NUMBERS, "unit", parameters="dim dtype")
scan("CumMax", "cummax", True)
scan("CumMin", "cummin", True)
scan("LogCumSumExp", "logcumsumexp", False, FLOATS)


# ---- Softmax

def soft(name, function, csp_dag=True):
    @operator(name, "dim dtype", csp_dag)
    def draw(d):
        shape = d.shape()
        x = d.tensor(shape, d.dtype(FLOATS))
        dim = d.option("dim", d.dim(len(shape)))
        dtype = d.option("dtype", OMIT, OMIT, OMIT, "float32")
        return call(function, x, dim=dim,
                    dtype=OMIT if dtype is OMIT else Name("torch." + dtype))


soft("Softmax", "F.softmax")
soft("LogSoftmax", "F.log_softmax")
soft("Softmin", "F.softmin", False)


# ---- Sorting

@operator("TopK", "k dim largest sorted")
def topk(d):
    shape = d.shape()
    x = d.tensor(shape, d.dtype(("float32", "float16", "int64")), "distinct")
    dim = d.dim(len(shape))
    k = d.int(0 if d.kind == "empty" else 1, shape[dim]) if shape and shape[dim] else 0
    return call("torch.topk", x, k if shape else 1, dim=dim, largest=d.flag("largest"))


@operator("Sort", "dim descending stable")
def sort(d):
    shape = d.shape()
    x = d.tensor(shape, d.dtype(("float32", "float16", "int64")), "distinct")
    stable = d.option("stable", OMIT, True)
    result = call("torch.sort", x, dim=d.dim(len(shape)), descending=d.flag("descending"),
                  stable=stable)
    return result


@operator("ArgSort", "dim descending")
def argsort(d):
    shape = d.shape()
    x = d.tensor(shape, "float32", "distinct")
    return call("torch.argsort", x, dim=d.dim(len(shape)), descending=d.flag("descending"))
