# The public names, and the rooms they live in: the only list. Type checkers read it here, and __init__.py loads by it.
# One line a name: from ROOM import NAME as NAME

from oboro import errors as errors
from oboro import stream as stream
from oboro.attacks import attack as attack
from oboro.decide.outliers import Outliers as Outliers
from oboro.explorer.session import Session as Session
from oboro.explorer.session import explore as explore
from oboro.io.files import read as read
from oboro.measure.reconstruction import reconstruct as reconstruct
from oboro.measure.retention_replacement import pk_evidence as pk_evidence
from oboro.measure.risk import risk as risk
from oboro.measure.statistics.fidelity import fidelity as fidelity
from oboro.recipe.evaluate import evaluate as evaluate
from oboro.recipe.preparing.column_hierarchy import propose_hierarchy as propose_hierarchy
from oboro.recipe.preparing.starter import Starter as Starter
from oboro.recipe.preparing.starter import init as init
from oboro.recipe.recipe import Recipe as Recipe
from oboro.recipe.release import Release as Release
from oboro.recipe.released.assess import assess as assess
from oboro.table.dataset import Dataset as Dataset
from oboro.table.special_uniques import special_uniques as special_uniques
from oboro.techniques.bottom_code import BottomCode as BottomCode
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
from oboro.verifier.table_check import verify as verify

__version__: str
