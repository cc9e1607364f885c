from hazardmill import errors as errors
from hazardmill.api.run import agenerate as agenerate
from hazardmill.api.run import generate as generate
from hazardmill.api.task import Task as Task
from hazardmill.api.task import load_task as load_task
from hazardmill.formalism.authoring import And as And
from hazardmill.formalism.authoring import Equals as Equals
from hazardmill.formalism.authoring import Exists as Exists
from hazardmill.formalism.authoring import Forall as Forall
from hazardmill.formalism.authoring import Iff as Iff
from hazardmill.formalism.authoring import Implies as Implies
from hazardmill.formalism.authoring import Not as Not
from hazardmill.formalism.authoring import Or as Or
from hazardmill.formalism.authoring import PlanningTask as PlanningTask
from hazardmill.formalism.semantics.plan_validator import verdict as verdict
from hazardmill.release.read.release import load_release as load_release
from hazardmill.store_access import open_store as open_store

__version__: str
__all__ = [
    "And",
    "Equals",
    "Exists",
    "Forall",
    "Iff",
    "Implies",
    "Not",
    "Or",
    "PlanningTask",
    "Task",
    "__version__",
    "agenerate",
    "errors",
    "generate",
    "load_release",
    "load_task",
    "open_store",
    "verdict",
]
