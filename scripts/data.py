# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Report on a table or a folder of splits before training: modeling-scratch data FOLDER_OR_FILE [options].

    modeling-scratch data tickets.csv
    modeling-scratch data my_reviews

The report has the sizes of the splits, labels and lengths, what to check (labels that are probably one
class, texts with different labels or in two splits), what training would drop, hold out and truncate, and the command
to train.
"""

import sys
from collections.abc import Sequence

from modeling_scratch.report.data_report import DataReportArguments, report, with_source
from modeling_scratch.utils.command_line import quiet_libraries, run_program


def main(arguments: Sequence[str] | None = None) -> None:
    given = with_source(sys.argv[1:] if arguments is None else arguments)
    run_program(report, DataReportArguments, __doc__, given)


if __name__ == "__main__":
    quiet_libraries()
    main()
