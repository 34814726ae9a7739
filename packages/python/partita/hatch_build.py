"""Names the platform of the wheel: the program is static, so any Linux on x86-64 runs it, with glibc or musl."""

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class PlatformHook(BuildHookInterface):
    """Sets the tag of the wheel."""

    def initialize(self, version, build_data):
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux_2_17_x86_64.musllinux_1_1_x86_64"
