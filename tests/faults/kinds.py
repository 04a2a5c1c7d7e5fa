"""The kinds of faults, by name."""

from tests.faults.formats import FORMATS
from tests.faults.kills import FullDisk, KillsAtWrites, RandomKills, Signals
from tests.faults.run_folders import RunFolders
from tests.faults.server import Servers
from tests.faults.sweeps import Sweeps

KINDS = {
    kind.name: kind
    for kind in (RunFolders(), RandomKills(), KillsAtWrites(), FullDisk(), Signals(), Sweeps(), *FORMATS, Servers())
}
