"""From which package a program imports what it calls."""

from pathlib import Path

import pytest

from gpudoctor.symptoms.program_source import called

PROGRAM = """
import gradio as gr
import torch.nn as nn, moviepy.editor
from trl import SFTTrainer as Trainer, GRPOTrainer
from .own import helper

def main():
    from peft import LoraConfig
    LoraConfig(r=8)
    Trainer(tokenizer=1)
    gr.Blocks(theme=2)
    moviepy.editor.VideoFileClip(verbose=False)
    helper(size=3)
    make()(deep=4)
"""


@pytest.mark.parametrize(
    ("name", "argument", "path"),
    [
        ("SFTTrainer", "tokenizer", "trl.SFTTrainer"),
        ("SFTTrainer", "dataset", ""),  # it is not passed
        ("Blocks", "theme", "gradio.Blocks"),
        ("LoraConfig", "r", "peft.LoraConfig"),  # imported within a function
        ("VideoFileClip", "verbose", "moviepy.editor.VideoFileClip"),
        ("GRPOTrainer", "tokenizer", ""),
        ("helper", "size", ""),  # of the program's own
        ("made", "deep", ""),
    ],
)
def test_the_path_of_what_is_called(tmp_path: Path, name: str, argument: str, path: str) -> None:
    (tmp_path / "x.py").write_text(PROGRAM)
    assert called(str(tmp_path / "x.py"), name, argument) == path


@pytest.mark.parametrize("text", ["def half(:\n", "\0"])
def test_a_file_that_is_no_program(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.py").write_text(text)
    assert called(str(tmp_path / "x.py"), "x", "y") == ""
    assert called(str(tmp_path / "missing.py"), "x", "y") == ""
