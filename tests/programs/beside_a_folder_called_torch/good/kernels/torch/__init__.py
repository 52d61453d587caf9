from .act import *
from .filter import *
