from penstock.decide.policies import Policy as Policy
from penstock.decide.policies import Proposal as Proposal
from penstock.decision import Outlook as Outlook
from penstock.errors import PenstockError as PenstockError
from penstock.evaluate.gym import Cluster as Cluster
from penstock.knobs import KnobSpace as KnobSpace
from penstock.knobs import Setting as Setting
from penstock.window import Window as Window

__version__: str
__all__: tuple[str, ...]
