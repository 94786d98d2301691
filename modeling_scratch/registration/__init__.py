# Copyright 2026 The modeling-scratch authors. Licensed under the Apache License, Version 2.0.
"""What `import modeling_scratch` tells other libraries of its classes. No saved folder holds any of it."""
