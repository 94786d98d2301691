# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write a model in ONNX, for other runtimes, and compare it with PyTorch in ONNX Runtime.

    modeling-scratch export --format onnx --model runs/demo --output_dir runs/demo-onnx

The folder appears only if the file computes what the model computes in PyTorch. It holds the tokenizer, the config and
a description of all tensors.
"""

from modeling_scratch.exporting.program import ExportArguments, export
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(export, ExportArguments, __doc__)

if __name__ == "__main__":
    quiet_libraries("torch.onnx", "torch.export")
    main()
