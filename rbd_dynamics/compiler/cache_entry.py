# SPDX-License-Identifier: Apache-2.0
"""One entry of the cache: a file that says for which key it is, and proves that it is whole.

It is the magic, the version of this format, the length of the data, a SHA-256, and the data. The
digest is over name, key and data, each behind its length: of an entry that was damaged, put under
another name or made for another key, nothing is ever given out. The file's name is a readable
stem, the digest of name and key, and a suffix.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import struct
import time

from rbd_dynamics.compiler.trusted_folder import READ_FILE, open_file

MAGIC = b"rbd_dynamics cache\r\n"
FORMAT_VERSION = 2
#: bytes of data that an entry may have: reading one takes no more memory, whatever lies there
LARGEST = 1 << 28
_HEADER = struct.Struct(f"<{len(MAGIC)}sIQ32s")
HEADER_SIZE = _HEADER.size

#: file names of entries, and of those that are being written
ENTRY_NAME = re.compile(r"[\w.]{0,48}-[0-9a-f]{32}(\.\w{0,8})?", re.ASCII)
TEMPORARY_NAME = re.compile(r"\.rbd_dynamics-[0-9a-f]{16}\.tmp")

_DAY = 86400.0


class Entry:
    """Files of one key, in any folder.

    Parameters:
        name: what a reader of the folder sees, such as "inverse_dynamics.o".
        key: says everything that the data depend on; of any length.
    """

    def __init__(self, name: str, key: str) -> None:
        self._digest = hashlib.sha256(MAGIC + struct.pack("<I", FORMAT_VERSION))
        for text in (name, key):
            code = text.encode("utf-8", "surrogatepass")
            self._digest.update(struct.pack("<Q", len(code)))
            self._digest.update(code)
        stem, suffix = (re.sub(r"[^\w.]", "_", part, flags=re.ASCII) for part in os.path.splitext(name))
        self.file_name = f"{stem[:48]}-{self._digest.hexdigest()[:32]}{suffix[:9]}"

    def _header(self, data: bytes) -> bytes:
        digest = self._digest.copy()
        digest.update(struct.pack("<Q", len(data)))
        digest.update(data)
        return _HEADER.pack(MAGIC, FORMAT_VERSION, len(data), digest.digest())

    def read(self, folder: int) -> bytes | None:
        """The data, or None: not there, not to be trusted, damaged, or of another key or format."""
        with contextlib.suppress(OSError):
            file, status = open_file(folder, self.file_name)
            with open(file, "rb") as stream:
                size = status.st_size - HEADER_SIZE
                if not 0 <= size <= LARGEST:
                    return None
                header, data = stream.read(HEADER_SIZE), stream.read(size)
                if header != self._header(data):
                    return None
                # the time of last use decides who goes first; once a day is enough, and spares the disk
                if time.time() - status.st_mtime > _DAY:
                    with contextlib.suppress(OSError):
                        os.utime(file)
                return data
        return None

    def write(self, folder: int, data: bytes) -> None:
        """Put the data there in one step: others see the old file or the new one. Raises OSError."""
        temporary = f".rbd_dynamics-{os.urandom(8).hex()}.tmp"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        file = os.open(temporary, flags, 0o600, dir_fd=folder)
        try:
            with open(file, "wb") as stream:
                stream.write(self._header(data))
                stream.write(data)
            os.replace(temporary, self.file_name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary, dir_fd=folder)
            raise


def is_entry(folder: int, name: str) -> bool:
    """Whether it is a regular file that this module wrote, in whatever version of the format."""
    try:
        file = os.open(name, READ_FILE, dir_fd=folder)
        try:
            return stat.S_ISREG(os.fstat(file).st_mode) and os.read(file, len(MAGIC)) == MAGIC
        finally:
            os.close(file)
    except OSError:
        return False
