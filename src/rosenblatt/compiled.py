"""Where compiled kernels are kept: a folder of the user, for all environments of the same versions.

Numba names its folders after the path of a source file, so that each environment compiles for
itself, and it looks at no other file. Here folders and files are named after versions and after
what the sources say: of the kernel itself, of the slides that it may call, and of what binds them.
"""

from __future__ import annotations

import functools
import hashlib
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import llvmlite
import numba
import numpy as np
from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, _CacheLocator
from numba.misc.appdirs import AppDirs

SHARED = ("kernels.py", "engine.py")  # what every kernel may be made of
FOLDERS = 16  # of older versions and sources that are kept beside


def keep(kernel: Any) -> None:
    """Have a kernel look for itself on disk before it is compiled, and stay there afterwards.

    Raises RuntimeError where there is no folder to keep it in.
    """
    kernel._cache = _Kept(kernel.py_func)


class Shelf(_CacheLocator):
    """The folder and the name of a kernel's files; Numba adds processor and types to them."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file = file  # Numba names it in warnings
        self.says = _digest(file)

    def get_cache_path(self) -> str:
        return str(_folder())

    def get_source_stamp(self) -> str:
        return self.says

    def get_disambiguator(self) -> str:
        return self.says[:16]

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Self | None:
        """Where to keep a kernel, or None where nothing can be written."""
        try:
            shelf = cls(function, file)
            if not _folder().exists():
                _clear_away(_folder().parent)
            shelf.ensure_cache_path()
        except OSError:
            return None
        return shelf


class _Kept(FunctionCache):
    """Numba's own cache, kept here."""

    class _impl_class(CompileResultCacheImpl):  # noqa: N801
        # Numba's own folders would not notice that the slides were edited.
        _locator_classes = [Shelf]  # noqa: RUF012


@functools.cache
def _folder() -> Path:
    """In the folder that NUMBA_CACHE_DIR says, or where this system keeps caches of a user."""
    said = config.CACHE_DIR  # type: ignore[attr-defined]
    home = said or AppDirs("rosenblatt", False).user_cache_dir
    library = str(config.USING_SVML)  # type: ignore[attr-defined]  # of functions of vectors
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.version, library
    here = Path(__file__).parent
    sources = _digest(*(here / name for name in SHARED), more=versions)
    return Path(home) / "rosenblatt" / f"numba-{numba.__version__}-{sources[:16]}"


def _digest(*files: str | Path, more: tuple[str, ...] = ()) -> str:
    """A name for what some files say."""
    parts = [*(Path(file).read_bytes() for file in files), *(text.encode() for text in more)]
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


def _clear_away(folders: Path) -> None:
    """Take away the oldest folders where there are many: a developer makes one with each edit."""
    old = sorted(folders.glob("numba-*"), key=lambda folder: folder.stat().st_mtime)[:-FOLDERS]
    for folder in old:
        shutil.rmtree(folder, ignore_errors=True)
