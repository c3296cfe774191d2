# The public names, and the rooms they live in: the only list. Type checkers read it here, and __init__.py loads by it.
# One line a name: from ROOM import NAME as NAME

from oboro import errors as errors
from oboro import stream as stream
from oboro.algorithms.outliers import Outliers as Outliers
from oboro.attacks.run import attack as attack
from oboro.data.dataset import Dataset as Dataset
from oboro.data.special_uniques import special_uniques as special_uniques
from oboro.explorer.session import Session as Session
from oboro.explorer.session import explore as explore
from oboro.io.read import read as read
from oboro.measures.reconstruction import pk_evidence as pk_evidence
from oboro.measures.reconstruction import reconstruct as reconstruct
from oboro.measures.risk import risk as risk
from oboro.measures.statistics import fidelity as fidelity
from oboro.recipe.assess import assess as assess
from oboro.recipe.evaluate import evaluate as evaluate
from oboro.recipe.recipe import Recipe as Recipe
from oboro.recipe.release import Release as Release
from oboro.recipe.starter import Starter as Starter
from oboro.recipe.starter import init as init
from oboro.recipe.starter import propose_hierarchy as propose_hierarchy
from oboro.techniques.bottom_code import BottomCode as BottomCode
from oboro.techniques.date_shift import DateShift as DateShift
from oboro.techniques.dp_anonymize import DpAnonymize as DpAnonymize
from oboro.techniques.drop_columns import DropColumns as DropColumns
from oboro.techniques.drop_records import DropRecords as DropRecords
from oboro.techniques.generalize import Generalize as Generalize
from oboro.techniques.k_anonymize import KAnonymize as KAnonymize
from oboro.techniques.k_conceal import KConceal as KConceal
from oboro.techniques.local_recode import LocalRecode as LocalRecode
from oboro.techniques.microaggregate import Microaggregate as Microaggregate
from oboro.techniques.noise import Noise as Noise
from oboro.techniques.partition_univariate import PartitionUnivariate as PartitionUnivariate
from oboro.techniques.pk_anonymize import PkAnonymize as PkAnonymize
from oboro.techniques.pseudonymize import Pseudonymize as Pseudonymize
from oboro.techniques.round import Round as Round
from oboro.techniques.sample import Sample as Sample
from oboro.techniques.shuffle import Shuffle as Shuffle
from oboro.techniques.sort import Sort as Sort
from oboro.techniques.suppress_cells import SuppressCells as SuppressCells
from oboro.techniques.swap import Swap as Swap
from oboro.techniques.synthesize import Synthesize as Synthesize
from oboro.techniques.top_code import TopCode as TopCode
from oboro.verifier.table import verify as verify

__version__: str
