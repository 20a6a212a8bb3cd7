"""Two states of this repository to compare: each a revision, or a folder that holds a checkout.

A revision is unpacked and built once below a cache folder. A folder is used as it is: what its
last build made must be there.
"""

import hashlib
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CACHE = ROOT / "build" / "revisions"


class Failure(Exception):
    """What keeps a comparison from being made, in words for the user."""


def run(command, folder):
    """Runs a command whose output is of interest only if it fails."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"in {folder}: {' '.join(map(str, command))} failed:\n{done.stdout[-4000:]}")
    return done.stdout


def note(words):
    print(words, file=sys.stderr, flush=True)


class Tree:
    """One side of a comparison: the sources, and the program that was built of them.

    `identity` tells two builds apart; results of a program are kept under it.
    """

    def __init__(self, name, folder, binary):
        self.name = name
        self.folder = folder
        self.binary = binary
        self.identity = hashlib.sha256(binary.read_bytes()).hexdigest()

    def path_of(self, file, other):
        """The tree in which `file` is: this one, or `other` where this one has no such file."""
        return (self.folder if (self.folder / file).exists() else other.folder) / file


def unpack(revision, cache):
    """The folder with the sources of a revision."""
    found = run(["git", "rev-parse", "--verify", "--short=12", f"{revision}^{{commit}}"], ROOT)
    folder = cache / "trees" / found.strip()
    if not (folder / "dev").exists():
        folder.mkdir(parents=True, exist_ok=True)
        archive = folder.parent / f"{folder.name}.tar"
        run(["git", "archive", "-o", archive, found.strip()], ROOT)
        run(["tar", "-xf", archive, "-C", folder], ROOT)
        archive.unlink()
    return folder


def find_tree(name, binary, build, cache):
    """The tree of a revision or a folder with `binary`, a path in it; `build` makes it.

    `build` is a list of commands, run in the folder of a revision that has no such binary yet.
    """
    folder = pathlib.Path(name).resolve()
    if not (folder / "programs").is_dir():
        folder = unpack(name, cache)
        if not (folder / binary).exists():
            note(f"building {binary} of {name} in {folder}")
            for command in build:
                run(command, folder)
    path = folder / binary
    if not path.exists():
        raise Failure(f"{path} is missing; build it, or name a revision instead of a folder")
    return Tree(name, folder, path)
