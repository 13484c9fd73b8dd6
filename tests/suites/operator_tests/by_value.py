import torch


def by_value(x, factor):
    return x * factor


####################################################################################

def test_by_value():
    x = torch.randn(5, 7, device="cuda")
    return by_value(x, x.sum().item())  # reads what is in the tensor
