"""Losses and distances."""

from draw import FLOATS, OMIT, Name, call, operator


def reduction(d):
    return d.option("reduction", OMIT, "mean", "sum", "none")


def pair(d, values="normal", target="normal", dtypes=FLOATS):
    shape, dtype = d.shape(), d.dtype(dtypes)
    return d.tensor(shape, dtype, values), d.tensor(shape, dtype, target)


@operator("CrossEntropy", "weight ignore_index reduction label_smoothing target", weight=3)
def cross_entropy(d):
    dtype, classes = d.dtype(FLOATS), d.int(2, 12)
    inner = d.rng.choice(((), (), (d.int(1, 6),), (d.int(1, 4), d.int(1, 4))))
    batch = d.int(1, 9)
    x = d.tensor((batch, classes, *inner), dtype)
    kwargs = {"reduction": reduction(d), "label_smoothing": d.option("label_smoothing", OMIT, 0.1)}
    if d.option("weight", False, False, True):
        kwargs["weight"] = d.tensor((classes,), dtype, "positive")
    if d.option("target", "indices", "indices", "probabilities") == "indices":
        target = d.index((batch, *inner), classes)
        kwargs["ignore_index"] = d.option("ignore_index", OMIT, OMIT, 0)
    else:
        target = d.tensor((batch, classes, *inner), dtype, "probability")
    return call("F.cross_entropy", x, target, **kwargs)


@operator("NLL", "weight ignore_index reduction")
def nll(d):
    dtype, classes, batch = d.dtype(("float32",)), d.int(2, 12), d.int(1, 9)
    inner = d.rng.choice(((), (d.int(1, 4), d.int(1, 4)), (3,)))
    x, target = d.tensor((batch, classes, *inner), dtype), d.index((batch, *inner), classes)
    weight = d.tensor((classes,), dtype, "positive") if d.option("weight", False, True) else OMIT
    return call("F.nll_loss", x, target, weight=weight, reduction=reduction(d),
                ignore_index=d.option("ignore_index", OMIT, OMIT, 1))


def plain(name, function, values="normal", target="normal", **domains):
    @operator(name, " ".join(["reduction", *domains]))
    def draw(d):
        a, b = pair(d, values, target)
        return call("F." + function, a, b, reduction=reduction(d),
                    **{k: d.option(k, *domain) for k, domain in domains.items()})


plain("MSE", "mse_loss")
plain("L1 loss", "l1_loss")
plain("SmoothL1", "smooth_l1_loss", beta=(OMIT, 0.5, 2.0))
plain("Huber", "huber_loss", delta=(OMIT, 0.5, 2.0))
plain("KL", "kl_div", "normal", "probability", log_target=(OMIT, True))
plain("BCE", "binary_cross_entropy", "unit", "unit")
plain("BCE with logits", "binary_cross_entropy_with_logits", "normal", "unit")
plain("SoftMargin", "soft_margin_loss")
plain("PoissonNLL", "poisson_nll_loss", "normal", "positive", log_input=(OMIT, False),
      full=(OMIT, True))


@operator("Gaussian NLL", "full reduction")
def gaussian(d):
    shape = d.shape(1, 3) or (3,)
    # F.gaussian_nll_loss reads the variance on the host to check it; the formula stands here.
    x, y, v = d.tensor(shape), d.tensor(shape), d.tensor(shape, values="positive")
    return "(0.5 * (torch.log(%s) + (%s - %s) ** 2 / %s)).mean()" % (v, x, y, v)


@operator("Triplet", "margin p swap reduction")
def triplet(d):
    n, width, dtype = d.int(1, 9), d.size(), d.dtype(FLOATS)
    return call("F.triplet_margin_loss", *[d.tensor((n, width), dtype) for _ in range(3)],
                margin=d.option("margin", OMIT, 0.5), p=d.option("p", OMIT, 1),
                swap=d.option("swap", OMIT, True), reduction=reduction(d))


@operator("Triplet with distance", "swap")
def triplet_distance(d):
    n, width = d.int(1, 9), d.size()
    return call("F.triplet_margin_with_distance_loss", *[d.tensor((n, width)) for _ in range(3)],
                distance_function=Name("lambda x, y: 1.0 - F.cosine_similarity(x, y)"),
                swap=d.option("swap", OMIT, True))


@operator("HingeEmbedding", "margin reduction")
def hinge(d):
    shape = d.shape()
    return "F.hinge_embedding_loss(%s, torch.sign(%s), reduction=%s)" % (
        d.tensor(shape), d.tensor(shape), repr(d.option("reduction", "mean", "sum", "none")))


@operator("CosineEmbedding", "margin reduction")
def cosine_embedding(d):
    n, width = d.int(1, 9), d.size()
    return "F.cosine_embedding_loss(%s, %s, torch.sign(%s), margin=%s, reduction=%s)" % (
        d.tensor((n, width)), d.tensor((n, width)), d.tensor((n,)), d.option("margin", 0.0, 0.3),
        repr(d.option("reduction", "mean", "sum", "none")))


@operator("MarginRanking", "margin reduction")
def margin_ranking(d):
    n = d.int(1, 30)
    return call("F.margin_ranking_loss", *[d.tensor((n,)) for _ in range(3)],
                margin=d.option("margin", OMIT, 0.5), reduction=reduction(d))


@operator("MultiMargin", "p reduction")
def multi_margin(d):
    n, classes = d.int(1, 9), d.int(2, 9)
    return call("F.multi_margin_loss", d.tensor((n, classes)), d.index((n,), classes),
                p=d.option("p", OMIT, 2), reduction=reduction(d))


@operator("MultiLabelSoftMargin", "reduction")
def multi_label(d):
    n, classes = d.int(1, 9), d.int(2, 9)
    return call("F.multilabel_soft_margin_loss", d.tensor((n, classes)),
                d.tensor((n, classes), values="unit"), reduction=reduction(d))


@operator("CosineSimilarity", "dim eps")
def cosine_similarity(d):
    shape, dtype = d.shape(), d.dtype(FLOATS)
    return call("F.cosine_similarity", d.tensor(shape, dtype), d.tensor(shape, dtype),
                dim=d.dim(len(shape)), eps=d.option("eps", OMIT, 1e-3))


@operator("PairwiseDistance", "p keepdim")
def pairwise(d):
    n, width = d.int(1, 9), d.size()
    return call("F.pairwise_distance", d.tensor((n, width)), d.tensor((n, width)),
                p=d.option("p", OMIT, 1.0), keepdim=d.flag("keepdim"))


@operator("Cdist", "p")
def cdist(d):
    k = d.size()
    return call("torch.cdist", d.tensor((d.size(), k)), d.tensor((d.size(), k)),
                p=d.option("p", OMIT, 1.0, 3.0))


@operator("CTC", "reduction")
def ctc(d):
    length, batch, classes, width = 8, d.int(1, 3), 5, 3
    # Lengths are numbers: as tensors PyTorch reads them on the host.
    return "F.ctc_loss(F.log_softmax(%s, -1), %s + 1, %s, %s, reduction=%s)" % (
        d.tensor((length, batch, classes), plain=True),
        d.index((batch, width), classes - 1, plain=True),
        (length,) * batch, (width,) * batch, repr(d.option("reduction", "mean", "sum", "none")))
