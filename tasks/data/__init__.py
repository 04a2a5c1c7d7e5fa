"""The data sets, one file each: read the public files, or synthesize a stand-in.  No training here."""

from tasks.data.locations import DataError, data_folder, locate
from tasks.data.options import OnData, data_option
