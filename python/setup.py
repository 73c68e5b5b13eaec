"""The parts of the package's description that depend on where it is built; see ./dev wheel."""

import os
import platform
import re

from setuptools import setup

here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "..", "CMakeLists.txt"), encoding="utf-8") as file:
    version = re.search(r"project\(plait VERSION ([0-9.]+)", file.read())[1]
inside = os.path.exists(os.path.join(here, "plait", "program"))
commands = {}

if inside:
    from wheel.bdist_wheel import bdist_wheel

    class Wheel(bdist_wheel):
        """A wheel with the program inside.

        The program is static: it needs a kernel and no libc, so every system of the architecture
        that pip knows can run it. manylinux_2_17 is the oldest tag that the pip of each supported
        Python accepts on systems with glibc, and musllinux_1_1 the oldest on those with musl.
        The package has no extension module, so one wheel is for every Python 3.
        """

        def get_tag(self):
            machine = platform.machine()
            return "py3", "none", f"manylinux_2_17_{machine}.musllinux_1_1_{machine}"

    commands["bdist_wheel"] = Wheel

setup(
    version=version,
    cmdclass=commands,
    # Without the program inside, a command of this name would hide the program in PATH.
    entry_points={"console_scripts": ["plait = plait._program:main"] if inside else []},
)
