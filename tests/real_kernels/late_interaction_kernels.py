import torch
import torch.nn.functional as F
from torch import rand, randint, randn


class maxsim:
    def inputs():
        return [randn(3, 8, 32, dtype=torch.float16), randn(5, 20, 32, dtype=torch.float16)]

    def reference(self, q, d):
        return torch.einsum("ald,bmd->ablm", q, d).float().amax(-1).sum(-1)

    def library(self, q, d):
        from late_interaction_kernels.forward import maxsim_forward
        return maxsim_forward(q, d)[0]


class plaid_score:
    def inputs():
        return [randn(30, 8), randint(0, 30, (5, 20)), randint(1, 21, (5,))]

    def reference(self, scores, codes, lengths):
        picked = scores[codes]
        real = torch.arange(20, device=codes.device) < lengths[:, None]
        return picked.masked_fill(~real[..., None], -torch.inf).amax(1).sum(-1)

    def library(self, scores, codes, lengths):
        from late_interaction_kernels.plaid import plaid_approx_score
        return plaid_approx_score(scores, codes, lengths)


class maxsim_varlen:
    def inputs():
        return [randn(20, 32, dtype=torch.float16), randn(50, 32, dtype=torch.float16)]

    def reference(self, q, d):
        scores = [[(a @ b.t()).float().amax(-1).sum() for b in d.split([20, 30])]
                  for a in q.split([8, 12])]
        return torch.stack([torch.stack(row) for row in scores])

    def library(self, q, d):
        from late_interaction_kernels.varlen import maxsim_varlen
        return maxsim_varlen(
            q, d, torch.tensor([0, 8, 20], device=q.device),
            torch.tensor([0, 20, 50], device=q.device), 12, 30)
