"""Pointwise operators: arithmetic, functions, activations, comparisons, selection."""

from draw import ANY, FLOATS, NUMBERS, OMIT, Name, call, csp, operator


def one(d, dtypes=FLOATS, values="normal"):
    return d.tensor(d.shape(), d.dtype(dtypes), values)


def two(d, dtypes=NUMBERS, values="normal"):
    """Operands that broadcast, sometimes of two dtypes."""
    shape = d.shape()
    dtype = d.dtype(dtypes)
    other = d.dtype(dtypes) if d.edges and d.chance(0.25) else dtype
    first, second = shape, d.broadcast(shape)
    if d.chance(0.3):
        first, second = second, first
    return d.tensor(first, dtype), d.tensor(second, other, values)


def activation(name, function, parameters=None, csp_dag=True, inplace=True, dtypes=FLOATS):
    """`parameters`: name -> domain."""
    parameters = parameters or {}
    known = list(parameters) + (["inplace"] if inplace else [])

    @operator(name, " ".join(known), csp_dag)
    def draw(d):
        kwargs = {k: d.option(k, *domain) for k, domain in parameters.items()}
        x = one(d, dtypes)
        if inplace and d.option("inplace", OMIT, OMIT, True) is True:
            kwargs["inplace"] = True
            if not d.edges:  # of a value of the program's own: as it stands in models
                x = Name("%s + 0.5" % x)
        return call(function, x, **kwargs)


def function(name, text, dtypes=FLOATS, values="normal", csp_dag=False):
    @operator(name, "", csp_dag)
    def draw(d):
        return call(text, one(d, dtypes, values))


# ---- Arithmetic

@csp("Add", "alpha other")
def add(d):
    return _with_alpha(d, "torch.add")


@csp("Sub", "alpha other")
def sub(d):
    return _with_alpha(d, "torch.sub")


def _with_alpha(d, name):
    kind = d.option("other", "tensor", "tensor", "number")
    alpha = d.option("alpha", OMIT, OMIT, 2, 0.5)
    a, b = two(d, FLOATS if alpha == 0.5 else NUMBERS) if kind == "tensor" else (
        one(d), d.option("value", 2, -0.75))
    if alpha is OMIT and d.chance(0.5):
        return "%s %s %s" % (a, "+" if name.endswith("add") else "-", b)
    return call(name, a, b, alpha=alpha)


@csp("Mul", "other")
def mul(d):
    if d.option("other", "tensor", "tensor", "number") == "number":
        return "%s * %s" % (one(d, NUMBERS), d.option("value", 3, -0.75))
    return call("torch.mul", *two(d, ANY))


@csp("Div", "rounding_mode other")
def div(d):
    mode = d.option("rounding_mode", OMIT, OMIT, None, "floor", "trunc")
    if d.option("other", "tensor", "tensor", "number") == "number":
        return call("torch.div", one(d, NUMBERS), d.option("value", 3, -0.75), rounding_mode=mode)
    return call("torch.div", *two(d, NUMBERS, "positive"), rounding_mode=mode)


@csp("Maximum")
def maximum(d):
    return call("torch.maximum", *two(d, ANY))


@csp("Minimum")
def minimum(d):
    return call("torch.minimum", *two(d, ANY))


@csp("Lerp", "weight")
def lerp(d):
    dtype, shape = d.dtype(FLOATS), d.shape()
    start, end = d.tensor(shape, dtype), d.tensor(d.broadcast(shape), dtype)
    if d.option("weight", "tensor", "number") == "tensor":
        return call("torch.lerp", start, end, d.tensor(d.broadcast(shape), dtype, "unit"))
    return call("torch.lerp", start, end, d.option("value", 0.25, 0.75, -1.5, 1))


@operator("Pow", "exponent")
def power(d):
    kind = d.option("exponent", "number", "number", "tensor", "base")
    if kind == "number":
        exponent = d.option("value", 2, 3, 0.5, -0.5, -1, -2, 1.7, 0, 1)
        return call("torch.pow", one(d, values="positive"), exponent)
    if kind == "base":
        return call("torch.pow", d.option("value", 2, 0.5), one(d))
    shape, dtype = d.shape(), d.dtype(FLOATS)
    return call("torch.pow", d.tensor(shape, dtype, "positive"), d.tensor(d.broadcast(shape), dtype))


@operator("FloorDivide", "other")
def floor_divide(d):
    if d.option("other", "tensor", "number") == "number":
        return "%s // %s" % (one(d, NUMBERS), d.option("value", 3, 2))
    return call("torch.floor_divide", *two(d, NUMBERS, "positive"))


@operator("WeightNorm", "dim")
def weight_norm(d):
    rows, columns = d.size(), d.size()
    return call("torch._weight_norm", d.tensor((rows, columns), plain=True),
                d.tensor((rows, 1), values="positive", plain=True), 0)


@operator("Remainder", "other")
def remainder(d):
    name = d.rng.choice(("torch.remainder", "torch.fmod"))
    kind = d.option("other", "tensor", "number", "dividend is a number")
    if kind == "number":
        return call(name, one(d, NUMBERS), d.option("value", 3, -2.5))
    if kind == "dividend is a number":
        return call("torch.remainder", d.option("value", 3, -2.5), one(d, NUMBERS, "positive"))
    return call(name, *two(d, NUMBERS, "positive"))


@operator("Addcmul", "value")
def addcmul(d):
    return _addc(d, "torch.addcmul", "normal")


@operator("Addcdiv", "value")
def addcdiv(d):
    return _addc(d, "torch.addcdiv", "positive")


def _addc(d, name, values):
    shape, dtype = d.shape(), d.dtype(FLOATS)
    return call(name, d.tensor(shape, dtype), d.tensor(d.broadcast(shape), dtype),
                d.tensor(shape, dtype, values), value=d.option("value", OMIT, 0.5, -2))


@operator("In-place arithmetic", "operator", weight=2)
def in_place(d):
    shape = d.shape()
    a = d.tensor(shape, "float32", plain=True)
    name = d.option("operator", "add_", "sub_", "mul_", "div_", "pow_", "clamp_", "copy_", "fill_",
                    "zero_", "masked_fill_", "exp_", "sqrt_", "neg_", "abs_", "sigmoid_", "tanh_",
                    "relu_", "lerp_", "addcmul_", "index_put", "clamp_min_", "rsqrt_", "log_",
                    "square_", "reciprocal_", "erf_", "sin_", "cos_", "floor_", "round_", "triu_",
                    "tril_", "clamp_max_", "bernoulli_", "normal_", "uniform_")
    if name in ("add_", "sub_", "mul_", "div_", "copy_"):
        other = d.tensor(d.broadcast(shape), "float32")
        if name != "copy_" and d.chance(0.4):
            other = 1.5
        return "%s.%s(%s)" % (a, name, other)
    if name == "masked_fill_":
        return "%s.masked_fill_(%s, -1.0)" % (a, d.tensor(d.broadcast(shape), "bool"))
    if name in ("lerp_", "addcmul_"):
        b, c = d.tensor(shape), d.tensor(shape)
        return "%s.%s(%s, %s)" % (a, name, b, c)
    if name == "index_put":
        if not shape or 0 in shape:
            return "%s.add_(1)" % a
        d.setup = "%s[%d] = %s" % (a, shape[0] - 1, d.rng.choice(("2.0", "%s[0] * 2" % a)))
        return "%s * 1" % a
    arguments = {"pow_": "2", "clamp_": "-0.5, 0.5", "fill_": "2.5", "clamp_min_": "0.1",
                 "clamp_max_": "0.1", "bernoulli_": "0.3"}
    return "%s.%s(%s)" % (a, name, arguments.get(name, ""))


# ---- Functions

for _name, _text, _values, _csp in (
        ("Exp", "torch.exp", "normal", False), ("Exp2", "torch.exp2", "normal", True),
        ("Expm1", "torch.expm1", "normal", False), ("Log", "torch.log", "positive", False),
        ("Log2", "torch.log2", "positive", False), ("Log1p", "torch.log1p", "positive", False),
        ("Log10", "torch.log10", "positive", False),
        ("Sqrt", "torch.sqrt", "positive", False), ("Rsqrt", "torch.rsqrt", "positive", False),
        ("Sin", "torch.sin", "normal", True), ("Cos", "torch.cos", "normal", True),
        ("Tan", "torch.tan", "normal", False), ("Asin", "torch.asin", "unit", False),
        ("Acos", "torch.acos", "unit", False), ("Atan", "torch.atan", "normal", False),
        ("Sinh", "torch.sinh", "normal", False), ("Cosh", "torch.cosh", "normal", False),
        ("Erf", "torch.erf", "normal", False), ("Erfc", "torch.erfc", "normal", False),
        ("Reciprocal", "torch.reciprocal", "positive", False)):
    function(_name, _text, FLOATS, _values, _csp)
for _name, _text, _csp in (
        ("Abs", "torch.abs", True), ("Neg", "torch.neg", False), ("Sign", "torch.sign", False),
        ("Square", "torch.square", False), ("Floor", "torch.floor", False),
        ("Ceil", "torch.ceil", False), ("Trunc", "torch.trunc", False)):
    function(_name, _text, NUMBERS, "normal", _csp)
function("Frac", "torch.frac")
function("IsNaN and others", "torch.isnan", NUMBERS)
function("IsInf", "torch.isinf", NUMBERS)
function("IsFinite", "torch.isfinite", NUMBERS)


@operator("Round", "decimals")
def rounding(d):
    return call("torch.round", one(d), decimals=d.option("decimals", OMIT, OMIT, 1, -1))


function("Sinc", "torch.sinc")
function("Lgamma", "torch.lgamma", FLOATS, "positive")
function("Digamma", "torch.digamma", FLOATS, "positive")
function("Signbit", "torch.signbit", NUMBERS)


@operator("Logit", "eps")
def logit(d):
    return call("torch.logit", one(d, values="unit"), eps=d.option("eps", OMIT, 1e-3, 0.25))


def function_of_two(name, text, dtypes=FLOATS, values="normal"):
    @operator(name)
    def draw(d):
        return call(text, *two(d, dtypes, values))


for _name, _text in (("Atan2", "torch.atan2"), ("Hypot", "torch.hypot"),
                     ("LogAddExp", "torch.logaddexp"), ("LogAddExp2", "torch.logaddexp2")):
    function_of_two(_name, _text)
function_of_two("Xlogy", "torch.xlogy", FLOATS, "positive")


@operator("Copysign", "other")
def copysign(d):
    if d.option("other", "tensor", "number") == "number":
        return call("torch.copysign", one(d, NUMBERS), d.option("value", 1.0, -0.0, -2))
    return call("torch.copysign", *two(d, NUMBERS))


@operator("Heaviside")
def heaviside(d):
    shape, dtype = d.shape(), d.dtype(NUMBERS)
    return call("torch.heaviside", d.tensor(shape, dtype), d.tensor(d.broadcast(shape), dtype))


@operator("NanToNum", "nan posinf neginf")
def nan_to_num(d):
    return call("torch.nan_to_num", one(d), nan=d.option("nan", OMIT, 1.0),
                posinf=d.option("posinf", OMIT, 2.0), neginf=d.option("neginf", OMIT, -2.0))


# ---- Activations

activation("ReLU", "F.relu", dtypes=NUMBERS)
activation("LeakyReLU", "F.leaky_relu", {"negative_slope": (OMIT, 0.2, 0.0, 1.5)})
activation("Sigmoid", "torch.sigmoid", inplace=False)
activation("Tanh", "torch.tanh", inplace=False)
activation("SiLU", "F.silu")
activation("GELU", "F.gelu", {"approximate": (OMIT, "none", "tanh")}, inplace=False)
activation("SELU", "F.selu")
activation("ELU", "F.elu", {"alpha": (OMIT, 0.5, 2.0)})
activation("Hardsigmoid", "F.hardsigmoid")
activation("Hardtanh", "F.hardtanh", {"min_val": (OMIT, -0.5, -2.0), "max_val": (OMIT, 0.5, 2.0)})
activation("Softplus", "F.softplus", {"beta": (OMIT, 0.5, 2), "threshold": (OMIT, 1, 10)},
           inplace=False)
activation("Softsign", "F.softsign", inplace=False)
activation("LogSigmoid", "F.logsigmoid", inplace=False)
activation("Mish", "F.mish", csp_dag=False)
activation("Hardswish", "F.hardswish", csp_dag=False)
activation("ReLU6", "F.relu6", csp_dag=False)
activation("CELU", "F.celu", {"alpha": (OMIT, 0.5)}, csp_dag=False)
activation("Softshrink", "F.softshrink", {"lambd": (OMIT, 0.3)}, csp_dag=False, inplace=False)
activation("Hardshrink", "F.hardshrink", {"lambd": (OMIT, 0.3)}, csp_dag=False, inplace=False)
activation("Tanhshrink", "F.tanhshrink", csp_dag=False, inplace=False)


@operator("Threshold", "threshold value inplace")
def threshold(d):
    return call("F.threshold", one(d), d.option("threshold", 0.1, -0.5), d.option("value", 0.0, 2.0),
                inplace=d.option("inplace", OMIT, True))


@operator("PReLU", "num_parameters")
def prelu(d):
    shape, dtype = d.shape(2, 4), d.dtype(FLOATS)
    count = d.option("num_parameters", 1, shape[1])
    return call("F.prelu", d.tensor(shape, dtype), d.tensor((count,), dtype))


@csp("Clamp", "min max")
def clamp(d):
    shape = d.shape()
    kind = d.option("bounds", "number", "number", "tensor")
    x = d.tensor(shape, d.dtype(FLOATS if kind == "tensor" else NUMBERS))
    dtype = d.inputs[0].dtype
    given = d.option("given", "min", "max", "both")
    bounds = {}
    for name, low in (("min", -1), ("max", 1)):
        if given not in (name, "both"):
            d.note(name, OMIT)
            continue
        if kind == "tensor":
            bounds[name] = d.tensor(d.broadcast(shape), dtype)
            d.note(name, "tensor")
        else:
            bounds[name] = d.option(name, low, low * 0.4, 0.2)
    return call("torch.clamp", x, **bounds)


@operator("GLU", "dim")
def glu(d):
    shape = list(d.shape(2, 4))
    dim = d.dim(len(shape))
    shape[dim] *= 2
    return call("F.glu", d.tensor(shape, d.dtype(FLOATS)), dim=dim)


@operator("SwiGLU")
def swiglu(d):
    shape = list(d.shape(2, 3))
    shape[-1] *= 2
    d.setup = "x, gate = %s.chunk(2, -1)" % d.tensor(shape, d.dtype(FLOATS))
    return "F.silu(gate) * x"


# ---- Comparison and selection

@operator("Comparison", "operator other", weight=2)
def comparison(d):
    name = d.option("operator", "eq", "ne", "lt", "le", "gt", "ge")
    if d.option("other", "tensor", "number") == "number":
        return call("torch." + name, one(d, NUMBERS), d.option("value", 0, 0.5))
    return call("torch." + name, *two(d, ANY))


@operator("Logical", "operator", weight=2)
def logical(d):
    name = d.option("operator", "logical_and", "logical_or", "logical_xor", "logical_not",
                    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
    dtypes = ("bool", "int64") if name.startswith("bitwise") else ANY
    if name.endswith("not"):
        return call("torch." + name, one(d, dtypes))
    if name.startswith("bitwise") and d.chance(0.3):
        return call("torch." + name, one(d, ("int64",)), 5)
    return call("torch." + name, *two(d, dtypes))


@operator("Shift", "operator")
def shift(d):
    shape = d.shape()
    a, b = d.tensor(shape, "int64"), d.tensor(d.broadcast(shape), "int64", "index:8")
    return "%s %s %s" % (a, d.option("operator", "<<", ">>"), b)


@operator("Where", "input other")
def where(d):
    shape, dtype = d.shape(), d.dtype(ANY)
    condition = d.tensor(d.broadcast(shape), "bool")
    a = d.tensor(shape, dtype) if d.option("input", "tensor", "tensor", "number") == "tensor" else 2
    b = d.tensor(d.broadcast(shape), dtype)
    if d.option("other", "tensor", "tensor", "number") == "number" and isinstance(a, Name):
        return call("torch.where", condition, a, 0.5 if dtype in FLOATS else 1)
    return call("torch.where", condition, a, b)


@operator("MaskedFill", "value")
def masked_fill(d):
    shape, dtype = d.shape(), d.dtype(ANY)
    x, mask = d.tensor(shape, dtype), d.tensor(d.broadcast(shape), "bool")
    if d.option("value", "number", "tensor") == "tensor":
        return "%s.masked_fill(%s, %s)" % (x, mask, d.tensor((), dtype))
    value = 1 if dtype in ("int64", "bool") else d.rng.choice(("float('-inf')", -1.5))
    return "%s.masked_fill(%s, %s)" % (x, mask, value)


@operator("Cast", "to", weight=2)
def cast(d):
    x = one(d, ANY)
    to = d.option("to", "float32", "float16", "bfloat16", "int64", "int32", "bool", "float64")
    return d.rng.choice(("%s.to(torch.%s)", "%s.type(torch.%s)")) % (x, to)
