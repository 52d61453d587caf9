"""Expressions in functions of tensors, mended by the linter itself: the text that comes out, or that none does."""

from __future__ import annotations

import textwrap

import pytest
from mending import mended

from torchmemlint.api import fix_source
from torchmemlint.config import Config


def function(code: str, body: str) -> str:
    """The body of a function of some tensors, mended."""
    head = "    import torch.nn.functional as F\n\n\n    def work(self, q, k, v, m, p):\n"
    text = head + textwrap.indent(textwrap.dedent(body).strip(), " " * 8) + "\n"
    return textwrap.dedent("\n".join(mended(code, text).splitlines()[4:])).strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "a = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))\na = F.softmax(a, dim=-1)\nreturn a @ v",
            "return F.scaled_dot_product_attention(q, k, v, scale=1 / math.sqrt(q.size(-1)))",
        ),
        (
            "a = (q @ k.transpose(2, 3)) * self.scale\na = a.softmax(-1)\nreturn (a @ v).transpose(1, 2)",
            "return F.scaled_dot_product_attention(q, k, v, scale=self.scale).transpose(1, 2)",
        ),
        (
            "return torch.bmm(torch.softmax(torch.bmm(q, k.transpose(-1, -2)), dim=-1), v)",
            "return F.scaled_dot_product_attention(q, k, v, scale=1.0)",
        ),
        ("a = q @ k.transpose(-2, -1)\na = a.masked_fill(m, -1e9)\nreturn a.softmax(-1) @ v", None),
        ("a = q @ k.transpose(-2, -1)\na = F.dropout(a.softmax(-1), p)\nreturn a @ v", None),
        ("a = q @ k.transpose(-2, -1) + m\nreturn a.softmax(-1) @ v", None),
        ("a = q @ k.transpose(-2, -1)\nq = v\nreturn a.softmax(-1) @ v + q", None),
        ("a = q @ k.transpose(-2, -1)\nw, n = a.softmax(-1), 0\nreturn w @ v", None),
    ],
)
def test_plain_attention_is_fused(body: str, expected: str | None) -> None:
    assert function("TML308", body) == (body if expected is None else expected)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return F.one_hot(m, v.size(0)).float() @ v", "return v[m]"),
        ("return torch.matmul(F.one_hot(m + 1, 9).to(v), self.table + v)", "return (self.table + v)[m + 1]"),
        ("h = F.one_hot(m, 9).float()\nreturn h @ v", None),
        ("return v @ F.one_hot(m, 9).float()", None),
    ],
)
def test_rows_are_picked_by_index(body: str, expected: str | None) -> None:
    assert function("TML310", body) == (body if expected is None else expected)


@pytest.mark.parametrize(
    ("body", "freed"),
    [
        ("q, k = q.transpose(1, 2).contiguous(), k\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("q = q.permute(0, 2, 1, 3).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("q = q[:, :, :, :8].contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", True),
        ("return F.scaled_dot_product_attention(q.transpose(-1, -2).contiguous(), k, v)", False),
        ("return F.scaled_dot_product_attention(q.mT.contiguous(), k, v)", False),
        ("q = q.permute(0, 1, 3, 2).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q[..., 0].transpose(1, 2).contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q.transpose(1, 3)[:, 1:].contiguous()\nreturn F.scaled_dot_product_attention(q, k, v)", False),
        ("q = q.transpose(1, 2).contiguous()  # contiguous() for the kernel\nreturn q.exp()", False),
        (
            "# contiguous, or jit trips over it\n# in old versions\nq = q.transpose(1, 2).contiguous()\nreturn q.exp()",
            False,
        ),
        ("q = q.transpose(1, 2).contiguous()  # heads first\nreturn q.exp()", True),
    ],
)
def test_attention_is_fed_rows_without_gaps_and_what_is_explained_stays(body: str, freed: bool) -> None:
    assert function("TML302", body) == (body.replace(".contiguous()", "", 1) if freed else body)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "m = p[:, None].repeat(\n    1, 4, 1  # heads\n)\nreturn q + m",
            "m = p[:, None].expand(\n    -1, 4, -1  # heads\n)\nreturn q + m",
        ),
        ("m = p.unsqueeze(0).repeat((k, 1, 1))\nreturn q + m", "m = p.unsqueeze(0).expand((k, -1, -1))\nreturn q + m"),
        ("m = p[:, None].repeat(1, 4, 1).view(-1)\nreturn q + m", None),
        ("m = p[:, None].repeat(1, 4, 1).flatten(0, 1)\nreturn q + m", None),
    ],
)
def test_expand_keeps_the_layout_and_is_not_viewed_flat(body: str, expected: str | None) -> None:
    text = body.replace("p", "torch.ones(k, 5)", 1)
    wanted = text if expected is None else expected.replace("p", "torch.ones(k, 5)", 1)
    assert function("TML306", text) == wanted


def safely(code: str, body: str) -> str:
    """The body of a function of a tensor after the safe fixes of a rule."""
    head = "import numpy as np\nimport torch\n\n\ndef work(x: torch.Tensor):\n"
    text = head + textwrap.indent(body, "    ") + "\n"
    return textwrap.dedent(fix_source(text, "program.py", Config(select=(code,), hints=True))[len(head) :]).strip()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return np.asarray(x.clone())", None),
        ("return np.array(x.clone(), copy=None)", None),
        ("return x.clone().numpy()", None),
        ("return x.clone().data_ptr()", None),
        ("y = x.clone()\nreturn y * 2 + y.size(0)", "y = x\nreturn y * 2 + y.size(0)"),
        ("y = x.clone()\nlog.keep(y)\nreturn y * 2", None),
        ("return x.clone().to('cuda')", "return x.to('cuda', copy=True)"),
        ("return x.clone().to('cuda', non_blocking=True)", None),
        ("return x.clone().to('cuda', None, True)", None),
    ],
)
def test_a_clone_goes_only_if_nobody_shares_its_memory(body: str, expected: str | None) -> None:
    assert safely("TML303", body) == (expected or body)
