# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""Write lessons of the course as notebooks for students and teachers, and as slides; open one.

modeling-scratch lesson 3                              # the student's notebook, opened in Jupyter
modeling-scratch lesson 1 2 --teacher --slides         # also solutions, notes and slides
modeling-scratch lesson --output_dir handout           # all lessons
modeling-scratch lesson transformer-in-an-evening      # a notebook of the documentation, without solutions
"""

from modeling_scratch.course.lessons import LessonArguments, write_lessons
from modeling_scratch.utils.command_line import main_of, quiet_libraries

main = main_of(write_lessons, LessonArguments, __doc__, first="--names")

if __name__ == "__main__":
    quiet_libraries()
    main()
