"""The examples run as they are, and show what they say."""

import importlib.util
import re
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples"


def _run(name, capsys):
    spec = importlib.util.spec_from_file_location("example", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main()
    return capsys.readouterr().out


def test_training_jointly_is_better_than_alone(capsys):
    alone, jointly = map(float, re.findall(r"AUPRC (\S+)", _run("01_train_jointly", capsys)))
    assert jointly > alone + 0.05


def test_every_view_has_a_weight_of_all_organisms(capsys):
    rows = [line.split("\t") for line in _run("02_learn_similarity", capsys).splitlines()]
    views = {view for _, view, organisms in rows if len(organisms.split(", ")) == 6}
    assert len(views) == 3
    assert all(float(weight) >= 0 for weight, *_ in rows)


def test_a_lost_letter_loses_the_site(capsys):
    text = _run("03_annotated_genomes", capsys)
    probability, gain, loss = map(float, re.findall(r"(?:probability|gain|loss) ([0-9.]+)", text))
    assert loss == probability > 0.5 > gain
    assert re.search(r"most important letter: [ACGT] at [+-]\d+ from the site", text)
