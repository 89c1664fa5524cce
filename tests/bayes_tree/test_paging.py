"""Files whose nodes lie in pages: the same answers, and one page read per refinement."""

import mmap
import sys

import numpy as np
import pytest
from benchmarks.bayes_tree.paging import CannotCountPagesError, MappedTrees, mapping_of

from anystream import BayesTreeClassifier, load
from anystream.bayes_tree.paging import fanout_of_page
from anystream.model_file import read_model
from bayes_tree.plain import plain

STEPS = 20


def labelled(n=2000, d=12, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(4, size=n)
    return random.normal(size=(n, d)) + y[:, None], y


def gappy(n=2000):
    X, y = labelled(n)
    X[::17, 3] = np.nan
    return X, y


def save_both(model, folder, page_bytes=4096):
    """Save the model packed and in pages; return both paths."""
    paths = folder / "packed.safetensors", folder / "paged.safetensors"
    model.set_params(page_bytes=None).save(paths[0])
    model.set_params(page_bytes=page_bytes).save(paths[1])
    return paths


def spans_in_file(path):
    """Return first byte and number of bytes of every node, counted from the start of the file."""
    file = read_model(path, mmap=True)
    head = file.arrays["head"]
    d = file.arrays["points"].shape[1]
    lanes = (head >> np.uint64(40) & np.uint64(0xFF)).astype(int) * 4
    leaf = (head >> np.uint64(56) & np.uint64(1)).astype(bool)
    blob = file.arrays["blob"]
    begin = blob.ctypes.data - mapping_of(blob)[1] + 4 * 4 * (head & np.uint64(2**40 - 1)).astype(int)
    return begin, 4 * lanes * np.where(leaf, d + 1, 2 * d + 3)


def straddles(path, page_bytes):
    begin, size = spans_in_file(path)
    return (begin // page_bytes != (begin + size - 1) // page_bytes) & (size <= page_bytes)


MODELS = {
    "fitted": lambda: plain().fit(*labelled()),
    "with gaps of removed nodes": lambda: plain(window=1500).fit(*labelled()).partial_fit(*labelled(900, seed=1)),
    "with missing values": lambda: plain().fit(*gappy()),
    "by default": lambda: BayesTreeClassifier().fit(*labelled(400, 5)),
    "with margins and covariances": lambda: plain(covariance=4, margin_levels=1).fit(*labelled(600, 8)),
    "one class": lambda: plain().fit(labelled(100)[0], np.zeros(100)),
    "one record": lambda: plain().partial_fit(labelled(1)[0], [0], classes=[0, 1]),
}


@pytest.mark.parametrize("page_bytes", [1024, 16384])
@pytest.mark.parametrize("name", MODELS)
def test_no_node_straddles_a_page_and_answers_are_those_of_the_packed_file_bit_for_bit(name, page_bytes, tmp_path):
    model = MODELS[name]()
    packed, paged = save_both(model, tmp_path, page_bytes)
    assert not straddles(paged, page_bytes).any()
    X = labelled(50, model.n_features_in_, seed=2)[0]
    for mapped in (False, True):
        twins = [load(path, mmap=mapped) for path in (packed, paged)]
        for budget in (0, 7, 300):
            np.testing.assert_array_equal(*(twin.predict_proba(X, budget=budget) for twin in twins))
        for twin in twins:
            twin.set_params(refine_for="certificate")
        answers = [twin.classify(X) for twin in twins]
        np.testing.assert_array_equal(answers[0].steps, answers[1].steps)
        np.testing.assert_array_equal(answers[0].proba, answers[1].proba)


def test_a_packed_file_has_nodes_that_straddle_a_page(tmp_path):
    packed, _ = save_both(plain().fit(*labelled()), tmp_path)
    assert straddles(packed, 4096).mean() > 0.05


def test_a_paged_file_is_little_larger(tmp_path):
    packed, paged = save_both(plain().fit(*labelled(8000)), tmp_path)
    assert paged.stat().st_size < 1.15 * packed.stat().st_size


def test_a_model_loaded_from_pages_learns_like_the_packed_one_and_is_saved_in_pages_again(tmp_path):
    packed, paged = save_both(plain(window=2100).fit(*labelled()), tmp_path)
    X, y = labelled(300, seed=3)
    twins = [load(path, mmap=True).partial_fit(X, y) for path in (packed, paged)]
    np.testing.assert_array_equal(*(twin.predict_proba(X) for twin in twins))
    assert twins[1].page_bytes == 4096
    twins[1].save(tmp_path / "again.safetensors")
    assert not straddles(tmp_path / "again.safetensors", 4096).any()
    np.testing.assert_array_equal(load(tmp_path / "again.safetensors").predict_proba(X), twins[0].predict_proba(X))


# -- fanout ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("page_bytes", "d"), [(4096, 5), (4096, 16), (4096, 126), (16384, 40), (512, 14)])
def test_the_fanout_of_a_page_is_the_largest_whose_inner_node_fits(page_bytes, d, tmp_path):
    model = plain(fanout="page", page_bytes=page_bytes).fit(*labelled(400, d))
    fanout = model.recipe_.fanout
    lanes = 4 if fanout <= 4 else -(-fanout // 8) * 8
    larger = 8 if lanes == 4 else lanes + 8
    assert 4 * lanes * (2 * d + 3) <= page_bytes
    assert fanout == 64 or 4 * larger * (2 * d + 3) > page_bytes
    model.save(tmp_path / "model.safetensors")
    assert not straddles(tmp_path / "model.safetensors", page_bytes).any()
    assert spans_in_file(tmp_path / "model.safetensors")[1].max() <= page_bytes
    assert load(tmp_path / "model.safetensors").recipe_.fanout == fanout


def test_a_page_that_holds_no_node_and_a_page_of_no_size_raise_errors():
    with pytest.raises(ValueError, match="4 entries of 200 features has 6448 bytes and a page 4096; use a larger"):
        fanout_of_page(4096, 200)
    with pytest.raises(ValueError, match="fanout is 'page', but page_bytes is None; set page_bytes=4096"):
        plain(fanout="page").fit(*labelled(50))
    for size in (100, 5000, 2**22, 4096.0, "page"):
        with pytest.raises(ValueError, match="page_bytes is"):
            plain(page_bytes=size).fit(*labelled(50))


# -- page faults -----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="drops pages and counts them as Linux does")
@pytest.mark.skipif(mmap.PAGESIZE > 4096, reason="pages of this machine hold many nodes")
def test_a_refinement_of_a_paged_model_faults_at_most_once_and_fewer_pages_than_of_a_packed_one(tmp_path):
    X, y = labelled(8000, 16)
    packed, paged = save_both(plain(covariance="diagonal").fit(X[:-12], y[:-12]), tmp_path)
    try:
        (of_packed, packed_faults), (of_paged, paged_faults) = (
            MappedTrees(path).read_by_refinements(X[-12:], STEPS) for path in (packed, paged)
        )
    except CannotCountPagesError as problem:
        pytest.skip(str(problem))
    assert of_packed.max() == 2, "a packed node lies on two pages"
    assert of_paged.max() == 1
    assert of_paged.mean() < 0.9 * of_packed.mean()
    assert paged_faults < 0.95 * packed_faults
