"""The plain device computes what its interface says."""

import numpy as np

from lookalike.devices.base import NEVER, Frame, Rows, in_steps, padded, rounded
from lookalike.devices.plain import Plain
from tests.vector_samples import SINGLE


def rows_of(values, scales=None):
    def fill(out, part):
        out[:] = values[part]

    return Rows(len(values), values.shape[1], values.dtype, fill, scales)


def test_steps():
    heads, rest = in_steps(np.array([[1.0, -2.2, 300.0]]), 2.0)
    assert heads.tolist() == [[0.0, -1.0, 127.0]]
    np.testing.assert_allclose(rest, [1 + 0.2**2 + 46.0**2])


def test_squares():
    basis = np.array([[1.0], [0.0]])
    heads, lengths, products, rest = rounded(np.array([[3.0, 4.0]]), basis, 2.0)
    assert (heads.tolist(), lengths.tolist(), products.tolist(), rest.tolist()) == ([[2.0]], [25.0], [9.0], [1.0])


def test_rows_are_loaded_centred_and_scaled():
    values = np.array([[3, 1], [5, 9]], np.float32)
    frame = Frame(2, 64, np.array([1.0, 1.0]), np.eye(2), 0.5)
    loaded = Plain(4).load(rows_of(values, np.array([1.0, 0.5])), frame, SINGLE)
    assert loaded.heads.shape == (4, 64)
    assert loaded.heads[:3, :3].tolist() == [[4, 0, 0], [4, 8, 0], [0, 0, 0]]
    assert loaded.squares.tolist() == [[4, 20], [4, 20], [0, 0]]


def test_codes_become_signs():
    loaded = Plain(2).load(rows_of(np.array([[0b101]], np.uint64)), Frame(3, 64), SINGLE)
    assert loaded.heads[:, :4].tolist() == [[1, -1, 1, 0], [0, 0, 0, 0]]


def test_candidates_of_blocks():
    """Of one collection each pair is found once; too many are none at all."""
    values = np.eye(6, 64)
    values[3] = values[1]
    device = Plain(2)
    frame = Frame(64, 64, np.zeros(64), np.eye(64), 0.1)
    loaded = device.load(rows_of(values, np.ones(6)), frame, SINGLE)
    side = device.side(loaded, np.full(6, -40), None)
    tasks = np.array([(a, b) for a in range(3) for b in range(a, 3)])
    assert device.candidates(side, side, frame, tasks, True).tolist() == [[1, 3]]
    both = device.candidates(side, side, frame, np.array([(0, 1), (1, 0), (0, 0)]), False)
    assert sorted(both.tolist()) == [[0, 0], [1, 1], [1, 3], [3, 1]]
    easy = device.side(loaded, np.zeros(6, np.int64), None)
    assert device.candidates(easy, easy, frame, tasks, True) is None
    limited = device.side(loaded, np.zeros(6, np.int64), np.full(6, 0.25))
    assert device.candidates(limited, limited, frame, np.array([(0, 1)]), True).tolist() == [[1, 3]]


def test_padding_passes_with_nothing():
    assert padded(np.array([5]), 3).tolist() == [5, NEVER, NEVER]
