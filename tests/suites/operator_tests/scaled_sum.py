import torch


def scaled_sum(input, other, *, alpha=1, activation=None):
    """input + alpha * other, and then what `activation` says: "relu" or nothing.

    Args:
        input (Tensor): of any shape.
        other (Tensor): of a shape that it can be broadcast with.
    """
    result = torch.add(input, other, alpha=alpha)
    if activation == "relu":
        result = torch.relu_(result)
    return result

##################################################################################################################################################

import torch


def test_scaled_sum():
    results = {}

    # Test case 1: one shape
    a = torch.randn(40, 30, device="cuda")
    b = torch.randn(40, 30, device="cuda")
    results["test_case_1"] = scaled_sum(a, b)

    # Test case 2: broadcast, with the activation
    row = torch.randn(30, device="cuda")
    results["test_case_2"] = scaled_sum(a, row, alpha=0.5, activation="relu")

    # Test case 3: what the first call gave
    results["test_case_3"] = scaled_sum(results["test_case_1"], b, alpha=-2)
    return results


test_results = test_scaled_sum()
print(test_results)
